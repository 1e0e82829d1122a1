"""The list of what a service or a store keeps: those in which something was said last come first, a
page at a time."""

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
"""Conversations on a page."""
MOST = 10_000
"""Conversations that are looked at, the newest: a store may have any number."""


class StoreListRequest(NamedTuple):
    """What is asked for: in what, by whom, of which owner (None is all that one may see), and which
    page, from 1."""

    owned: Owned
    by: str
    owner: str | None = None
    page: int = 1

    @property
    def is_all(self) -> bool:
        """Whether those of every owner may be seen."""
        return isinstance(self.owned, EveryOwner)

    def address(self, *, page: int = 1, owner: str | None = None) -> str:
        given = {"owner": owner, "page": page if page > 1 else None}
        said = urlencode({name: value for name, value in given.items() if value is not None})
        return f"/kept?{said}" if said else "/kept"

    async def entries(self) -> list[ConversationEntry]:
        """All of them, or the newest, by when something was said."""
        if self.is_all:
            found = await self.owned.store.list(owner=self.owner, limit=MOST + 1)
        else:
            found = await self.owned.entries(self.by, MOST + 1, whose=self.owner)
        return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)

    async def read(self, entries: Sequence[ConversationEntry]) -> list[Conversation]:
        """These, with their messages. One may go away meanwhile; one that cannot be read is left
        out, and logged."""
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
    """A page of the list. `total` is how many there are, of which at most `MOST` are known;
    `version` is another one whenever the page looks different."""

    rows: Sequence[StoreRow] = ()
    total: int = 0
    version: str = ""
    newer: int = 0
    older: int = 0

    @property
    def said(self) -> str:
        return f"{self.total:,}" if self.total <= MOST else f"more than {MOST:,}"


async def see(kept: StoreListRequest, *, titles: bool = True) -> Sight:
    """The page that is asked for; without `titles` there are no rows in it."""
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
