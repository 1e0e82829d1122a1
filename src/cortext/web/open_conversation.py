"""A conversation that is open on a web page.

The whole conversation is read once. After that, only the new parts of its files are read.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.errors import SessionNotFoundError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.session_of_row import read_all
from cortext.features.watch.conversation_tail import ConversationTail
from cortext.features.watch.live_sources import (
    LiveConversation,
    LiveSource,
    LiveToolSession,
    Prints,
    Reading,
    open_live_source,
)
from cortext.formats.message_lines import Damage
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in
from cortext.tools.new_transcript_lines import NewLines
from cortext.tools.registry import get_tool
from cortext.web.conversation_turns import Turns, first_difference
from cortext.web.tool_database_tail import RowsTail


class OpenConversation:
    """A conversation in memory. Call `look` to read its new messages.

    - `turns`: the messages as a page shows them
    - `damages`: the parts that cannot be read
    - `side`: the number of sub-agents
    - `version`: a text that changes whenever a turn changes

    The constructor and `look` raise SessionNotFoundError if the conversation no longer exists.
    """

    def __init__(self, row: ConversationRow) -> None:
        self.row: ConversationRow = capture_pending(row)
        self._lock = threading.Lock()
        self._name = secrets.token_hex(4)
        self._changes: list[int] = []
        self._source, self._tail = _open(self.row)
        self.turns: Turns = Turns(self._tail.session)

    @property
    def has_session(self) -> bool:
        """Whether the conversation has a session with messages, and not only a document."""
        return self._source.has_session

    @property
    def session(self) -> Session:
        return self._tail.session

    @property
    def damages(self) -> Sequence[Damage]:
        return self._source.damages

    @property
    def side(self) -> int:
        return self._source.side

    @property
    def version(self) -> str:
        return f"{self._name}.{len(self._changes)}"

    def look(self, row: ConversationRow | None = None) -> None:
        """Read the new messages of the conversation. Any thread may call this method.

        `row` is the current list entry of the conversation, if the caller has it.
        """
        with self._lock:
            if row is not None and row.last_active >= self.row.last_active:
                self.row = row
            before = self._tail.session
            count = len(before.messages)
            news = self._tail.news()
            if news is None:
                return
            if news.over and not self._source.is_there():
                raise SessionNotFoundError(self.row.key, path=self.row.path)
            if self._tail.session is before:
                self.turns.extend()
                first = self.turns.changed_since(count) if self.turns.total > count else None
            else:
                old, self.turns = self.turns, Turns(self._tail.session)
                first = first_difference(old, self.turns)
            if first is not None:
                self._changes.append(first)

    def changed_since(self, version: str) -> int | None:
        """Return the number of the first turn that has changed since `version`.

        A turn is a message as a page shows it. Return None if no turn has changed. If `version` is
        unknown, return 1, because any turn may have changed.
        """
        name, _, number = version.partition(".")
        count = int(number) if number.isdecimal() and len(number) < 12 else -1
        if name != self._name or not 0 <= count <= len(self._changes):
            return 1
        return min(self._changes[count:], default=None)


class _ObservedSource:
    """A wrapper around a live source. It remembers the damages that the last reading found.

    A live source is a conversation to which messages may be added. Damages are its unreadable
    parts. Each method calls the method with the same name of `inner`, the wrapped live source.
    """

    def __init__(self, inner: LiveSource) -> None:
        self._inner = inner
        self.path = inner.path
        self.damages: Sequence[Damage] = ()

    @property
    def has_session(self) -> bool:
        return not isinstance(self._inner, _EmptySource)

    @property
    def side(self) -> int:
        return self._inner.side if isinstance(self._inner, _FullToolSession) else 0

    def is_there(self) -> bool:
        return self._inner.is_there()

    def prints(self) -> Prints:
        return self._inner.prints()

    def read(self) -> Reading:
        session, self.damages = self._inner.read()
        self.path = self._inner.path
        return session, self.damages

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        return self._inner.follow(lately)

    def over(self) -> str:
        return self._inner.over()


class _FullToolSession(LiveToolSession):
    """A session of an AI tool, read with the full text of its tool results.

    The page of the conversation links to these full texts.
    """

    side = 0

    def read(self) -> Reading:
        found = read_all(self._row)
        self.path, self.side = found.path, len(found.side)
        self._row = replace(self._row, path=found.path)
        return found.session, found.damages


class _EmptySource:
    """A live source without messages, for a conversation that has only a markdown document.

    A live source is a conversation to which messages may be added. This one never gets any.
    """

    def __init__(self, row: ConversationRow) -> None:
        self._row, self.path = row, row.place.folder

    def is_there(self) -> bool:
        return True

    def prints(self) -> Prints:
        return ()

    def read(self) -> Reading:
        return Session(self._row.id, title=self._row.title, kind=self._row.kind), ()

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        return None

    def over(self) -> str:
        return ""


def _is_in_database(row: ConversationRow) -> bool:
    tool = get_tool(row.tool)
    return tool is not None and tool.has_databases


def _open(row: ConversationRow) -> tuple[_ObservedSource, ConversationTail]:
    source = _ObservedSource(_live_source(row))
    try:
        return source, RowsTail(source, row) if _is_in_database(row) else ConversationTail(source)
    except FileNotFoundError as error:
        raise SessionNotFoundError(row.key, path=row.path) from error
    except SessionNotFoundError:
        if row.tool or not document_in(row.place.folder):
            raise
        source = _ObservedSource(_EmptySource(row))
        return source, ConversationTail(source)


def _live_source(row: ConversationRow) -> LiveSource:
    if row.is_standalone:
        return open_live_source(row)
    return _FullToolSession(row) if row.tool else LiveConversation(row)
