"""The list of conversations of a service or a store: the most recently active first, in pages."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.service.http.ownership import EveryOwner, Owned
from cortext.service.stores.conversation_events import log
from cortext.service.stores.port import Conversation, ConversationEntry
from cortext.web.store_pages.store_row import StoreRow, row_of

PAGE = 100
"""The number of conversations on a page."""
MOST = 10_000
"""The most conversations that are listed: the newest ones. A store may have more."""


class StoreListRequest(NamedTuple):
    """A request for a page of the list.

    `owned` is the store, and `by` is who makes the request. `owner` limits the list to one owner;
    None means every owner that `by` may see. `page` counts from 1.
    """

    owned: Owned
    by: str
    owner: str | None = None
    page: int = 1

    @property
    def is_all(self) -> bool:
        """Whether the conversations of every owner may be seen."""
        return isinstance(self.owned, EveryOwner)

    def address(self, *, page: int = 1, owner: str | None = None) -> str:
        given = {"owner": owner, "page": page if page > 1 else None}
        said = urlencode({name: value for name, value in given.items() if value is not None})
        return f"/kept?{said}" if said else "/kept"

    async def entries(self) -> list[ConversationEntry]:
        """Return the newest conversations, at most `MOST` + 1, without their messages.

        The most recently active conversation comes first.
        """
        if self.is_all:
            found = await self.owned.store.list(owner=self.owner, limit=MOST + 1)
        else:
            found = await self.owned.entries(self.by, MOST + 1, whose=self.owner)
        return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)

    async def read(self, entries: Sequence[ConversationEntry]) -> list[Conversation]:
        """Return these conversations with their messages.

        A conversation that no longer exists is left out. One that cannot be read is left out and
        logged.
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


class Sight(NamedTuple):
    """A page of the list.

    `total` is the number of conversations, or `MOST` + 1 if there are more than `MOST`. `version`
    changes whenever the page looks different. `newer` and `older` are page numbers, 0 for none.
    """

    rows: Sequence[StoreRow] = ()
    total: int = 0
    version: str = ""
    newer: int = 0
    older: int = 0

    @property
    def said(self) -> str:
        return f"{self.total:,}" if self.total <= MOST else f"more than {MOST:,}"


async def see(kept: StoreListRequest, *, titles: bool = True) -> Sight:
    """Return the requested page. Without `titles`, the page has no rows."""
    entries = await kept.entries()
    shown = entries[:MOST]
    last = max(-(-len(shown) // PAGE), 1)
    number = min(kept.page, last)
    here = shown[(number - 1) * PAGE : number * PAGE]
    rows = [row_of(each) for each in await kept.read(here)] if titles else []
    return Sight(
        rows,
        len(entries),
        _version(len(entries), here),
        number - 1,
        number + 1 if number < last else 0,
    )


def _version(total: int, entries: Sequence[ConversationEntry]) -> str:
    said = "\n".join(f"{each.id} {each.updated_at.isoformat()}" for each in entries)
    return hashlib.sha256(f"{total}\n{said}".encode("utf-8", "replace")).hexdigest()[:16]
