"""List and search this machine's conversations with AI tools, for the user of this machine.

The results are the same as those of `cortext list` and `cortext search`. The requests run in a
thread, one after the other. A second thread reads new messages in the background.
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
from cortext.features.search.background_refresh import BackgroundRefresh
from cortext.features.search.search import Search, SearchHit, TextFilter

T = TypeVar("T")
WAIT = 3.0
"""The maximum number of seconds that a search waits while new messages are read."""
_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.1


class ListedSession(Struct, rename="camel"):
    """A conversation of a workspace, or a session of an AI tool, as an entry of a list."""

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
    """A page of sessions, the most recently active first.

    `total` is the number of sessions on all pages. `next` is the offset of the next page, None on
    the last page. `left` is the number of transcripts that are not read yet.
    """

    sessions: Sequence[ListedSession]
    total: int
    next: int | None
    left: int


class FoundText(Struct, rename="camel"):
    """A passage of a conversation that contains the words of a search.

    `message` is the number of the message with the passage, counted from 1. If `message` is below
    1, the passage is in a title, in a document or in a sub-agent's messages. `marks` are the start
    and end positions of the found words in `text`.
    """

    session: ListedSession
    message: int
    role: str
    timestamp: datetime
    text: str
    marks: Sequence[tuple[int, int]]


class FoundPage(Struct, rename="camel"):
    """The passages that a search found, newest first.

    `left` is the number of conversations that are not read yet: a later search may find more.
    """

    hits: Sequence[FoundText]
    left: int


class MachineSessions:
    """Lists and searches this machine's conversations with AI tools.

    Any number of requests may arrive at the same time. They run one after the other.
    """

    def __init__(self) -> None:
        self._lock: asyncio.Lock | None = None
        self._warming = BackgroundRefresh()

    async def list(self, list_filter: ListFilter, *, limit: int, offset: int) -> SessionPage:
        return await self._run_in_thread(lambda: _list_page(list_filter, limit, offset))

    async def search(
        self, text: str, list_filter: ListFilter, text_filter: TextFilter, *, limit: int
    ) -> FoundPage:
        """Search the conversations of this machine, and return at most `limit` passages.

        The search first waits until new messages are read, at most `WAIT` seconds. `list_filter`
        selects the conversations, and `text_filter` selects the passages in them.
        """
        await self._wait_for_new_messages()
        return await self._run_in_thread(
            lambda: self._search(text, list_filter, text_filter, limit)
        )

    async def end(self) -> None:
        """Stop the background thread. The messages that it has read stay in the search index."""
        await asyncio.to_thread(self._warming.end)

    async def _wait_for_new_messages(self) -> None:
        """Read new messages in the background, and wait at most `WAIT` seconds until they are read.

        This method occupies no thread while it waits. There are only few threads, and the stores
        need them.
        """
        warming, loop = self._warming, asyncio.get_running_loop()
        warming.start()
        end, pause = loop.time() + WAIT, _FIRST_PAUSE
        while warming.goes_on and loop.time() < end:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            return await asyncio.to_thread(work)

    def _search(
        self, text: str, list_filter: ListFilter, text_filter: TextFilter, limit: int
    ) -> FoundPage:
        search = Search()
        # While the background thread reads, a refresh would have to wait for it.
        left = self._warming.left if self._warming.goes_on else search.refresh().left
        return FoundPage(
            [*map(_search_hit, search.find(text, list_filter, text_filter, most=limit))], left
        )


def _list_page(list_filter: ListFilter, limit: int, offset: int) -> SessionPage:
    conversations = ConversationList(paths.workspace_root(), everywhere=True)
    rows = conversations.list(list_filter, capture=True).rows
    end = offset + limit
    return SessionPage(
        [*map(_list_entry, rows[offset:end])],
        len(rows),
        end if end < len(rows) else None,
        conversations.left,
    )


def _list_entry(row: ConversationRow) -> ListedSession:
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


def _search_hit(hit: SearchHit) -> FoundText:
    return FoundText(
        session=_list_entry(hit.row),
        message=hit.number,
        role=hit.role,
        timestamp=from_micros(hit.time),
        text=hit.snippet.text,
        marks=[(start, end) for start, end in hit.snippet.spans],
    )
