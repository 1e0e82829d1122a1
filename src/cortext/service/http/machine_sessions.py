"""What this machine keeps of conversations with AI tools: lists and searches, for its person only.

The work is that of `cortext list` and `cortext search`, one at a time, in a thread. What is new is
read in another one, and nobody waits for all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.clock import from_micros
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.search.background_refresh import Warming
from cortext.features.search.search import Search, SearchHit, TextFilter

T = TypeVar("T")
WAIT = 3.0
"""Seconds that a search waits for what is new to be read."""
_LOOK = 0.002
_LONGEST_LOOK = 0.1


class ListedSession(Struct, rename="camel"):
    """One conversation of a workspace, or session of a tool."""

    id: str
    title: str
    type: str
    tool: str | None
    status: str
    folder: str
    created_at: datetime
    last_active: datetime
    messages: int
    tokens: int
    tags: Sequence[str]
    summary: str


class SessionPage(Struct, rename="camel"):
    """Some of them, the latest first; `next` is the offset of those that follow, `left` how many
    transcripts nobody looked at yet."""

    sessions: Sequence[ListedSession]
    total: int
    next: int | None
    left: int


class FoundText(Struct, rename="camel"):
    """A text with the words. `message` counts from 1; below that it is a title or a document.
    `marks` are the places of the words in `text`: from, until."""

    session: ListedSession
    message: int
    role: str
    timestamp: datetime
    text: str
    marks: Sequence[tuple[int, int]]


class FoundPage(Struct, rename="camel"):
    """The newest texts first; `left` is how many conversations are not read yet: ask again."""

    hits: Sequence[FoundText]
    left: int


class MachineSessions:
    """Both, for requests that come at the same time."""

    def __init__(self) -> None:
        self._one: asyncio.Lock | None = None
        self._warming = Warming()

    async def list(self, wanted: ListFilter, *, limit: int, offset: int) -> SessionPage:
        return await self._do(lambda: _list(wanted, limit, offset))

    async def search(
        self, text: str, wanted: ListFilter, narrow: TextFilter, *, limit: int
    ) -> FoundPage:
        """What is found in all that could be read within a few seconds."""
        await self._catch_up()
        return await self._do(lambda: self._search(text, wanted, narrow, limit))

    async def end(self) -> None:
        """Let the reading stop; what was read is kept."""
        await asyncio.to_thread(self._warming.end)

    async def _catch_up(self) -> None:
        """Have what is new read, for a while. Not in a thread: those are few, and who waits in one
        keeps stores from their files."""
        warming, loop = self._warming, asyncio.get_running_loop()
        warming.start()
        end, pause = loop.time() + WAIT, _LOOK
        while warming.goes_on and loop.time() < end:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK)

    async def _do(self, work: Callable[[], T]) -> T:
        self._one = self._one or asyncio.Lock()
        async with self._one:
            return await asyncio.to_thread(work)

    def _search(self, text: str, wanted: ListFilter, narrow: TextFilter, limit: int) -> FoundPage:
        search = Search()
        # While all is being read for the first time, a look at what is new would wait for that.
        left = self._warming.left if self._warming.goes_on else search.refresh().left
        return FoundPage([*map(_found, search.find(text, wanted, narrow, most=limit))], left)


def _list(wanted: ListFilter, limit: int, offset: int) -> SessionPage:
    conversations = ConversationList(paths.workspace_root(), everywhere=True)
    rows = conversations.list(wanted, capture=True).rows
    end = offset + limit
    return SessionPage(
        [*map(_listed, rows[offset:end])],
        len(rows),
        end if end < len(rows) else None,
        conversations.left,
    )


def _listed(row: ConversationRow) -> ListedSession:
    return ListedSession(
        id=row.id,
        title=row.title,
        type=row.kind or "chat",
        tool=row.tool_name or None,
        status=row.status,
        folder=row.folder,
        created_at=from_micros(row.created_at),
        last_active=row.active_at,
        messages=row.messages,
        tokens=row.tokens,
        tags=row.tags,
        summary=row.summary,
    )


def _found(hit: SearchHit) -> FoundText:
    return FoundText(
        session=_listed(hit.row),
        message=hit.number,
        role=hit.role,
        timestamp=from_micros(hit.time),
        text=hit.snippet.text,
        marks=[(start, end) for start, end in hit.snippet.spans],
    )
