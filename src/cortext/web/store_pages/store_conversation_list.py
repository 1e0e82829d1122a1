"""The web page that lists the conversations in a store, the most recently active first."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.service.http.owned_store import EveryOwner, OwnedStore
from cortext.service.stores.conversation_events import log
from cortext.service.stores.port import Conversation, ConversationEntry
from cortext.web.store_pages.store_row import StoreRow, row_of

PAGE = 100
"""The number of conversations on one page of the list."""
MOST = 10_000
"""The maximum number of conversations in the list. A store may have more, older conversations."""


class StoreListRequest(NamedTuple):
    """A request for one page of the list of conversations in a store.

    - `owned`: the store
    - `by`: the client that makes the request
    - `owner`: the owner of the conversations; None means all owners that `by` may see
    - `page`: the number of the page, from 1
    """

    owned: OwnedStore
    by: str
    owner: str | None = None
    page: int = 1

    @property
    def is_all(self) -> bool:
        """Whether the client may see the conversations of all owners."""
        return isinstance(self.owned, EveryOwner)

    def address(self, *, page: int = 1, owner: str | None = None) -> str:
        given = {"owner": owner, "page": page if page > 1 else None}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return f"/kept?{query}" if query else "/kept"

    async def entries(self) -> list[ConversationEntry]:
        """Return the conversations without their messages, the most recently active first.

        At most `MOST` + 1 conversations are returned. So the caller can see whether there are more
        than `MOST`.
        """
        if self.is_all:
            found = await self.owned.store.list(owner=self.owner, limit=MOST + 1)
        else:
            found = await self.owned.entries(self.by, MOST + 1, whose=self.owner)
        return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)

    async def read(self, entries: Sequence[ConversationEntry]) -> list[Conversation]:
        """Read conversations from the store, with their messages.

        `entries` are the list entries of the conversations. A conversation that no longer exists is
        left out. A damaged conversation is logged and left out.
        """
        found = await asyncio.gather(*(self._read(each.id) for each in entries))
        return [each for each in found if each is not None]

    async def _read(self, id: str) -> Conversation | None:
        try:
            return await self.owned.get(self.by, id)
        except SessionNotFoundError:
            return None
        except SessionCorruptedError as error:
            log.warning("conversation %s is not shown: %s", id, error)
            return None


class StoreListPage(NamedTuple):
    """The content of one page of the list of conversations in a store.

    `total` is the number of conversations, or `MOST` + 1 if there are more than `MOST`. `version`
    is a text that changes when the content of the page changes. `newer` and `older` are the numbers
    of the previous and the next page; 0 means that there is no such page.
    """

    rows: Sequence[StoreRow] = ()
    total: int = 0
    version: str = ""
    newer: int = 0
    older: int = 0

    @property
    def said(self) -> str:
        return f"{self.total:,}" if self.total <= MOST else f"more than {MOST:,}"


async def see(kept: StoreListRequest, *, titles: bool = True) -> StoreListPage:
    """Return one page of the list of conversations in a store. `kept` is the request for this page.

    With `titles=False`, the page has a version but no rows, and no conversation is read.
    """
    entries = await kept.entries()
    shown = entries[:MOST]
    last = max(-(-len(shown) // PAGE), 1)
    number = min(kept.page, last)
    entries_on_page = shown[(number - 1) * PAGE : number * PAGE]
    rows = [row_of(each) for each in await kept.read(entries_on_page)] if titles else []
    return StoreListPage(
        rows,
        len(entries),
        _version(len(entries), entries_on_page),
        number - 1,
        number + 1 if number < last else 0,
    )


def _version(total: int, entries: Sequence[ConversationEntry]) -> str:
    lines = "\n".join(f"{each.id} {each.updated_at.isoformat()}" for each in entries)
    return hashlib.sha256(f"{total}\n{lines}".encode("utf-8", "replace")).hexdigest()[:16]
