"""Following a tool's session in a database: each check reads only the rows that changed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.features.capture.transcripts import current_position, read_new_messages, transcript_at
from cortext.features.watch.follow_conversation import ConversationTail, NewMessages
from cortext.features.watch.followed_sources import LiveSource
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.tools.new_messages import FilePosition, MessageDelta


class RowsTail(ConversationTail):
    """A `ConversationTail` for a session that a tool stores as rows of a database.

    A position is the time of the last change that was read, in milliseconds. A row may change again
    within the same millisecond. For this reason each check starts one position earlier than
    necessary, and reads some rows twice.
    """

    def __init__(self, growing: LiveSource, row: ConversationRow) -> None:
        self._row = row
        self._last: FilePosition | None = None
        self._before: FilePosition | None = None
        super().__init__(growing)

    def _whole(self) -> Session:
        # Take the position before reading: a row added in between is then read twice, not missed.
        self._before = self._last = self._end()
        return super()._whole()

    def _read(self) -> NewMessages:
        changed = self._changed()
        if changed is None:
            return super()._read()
        self._before, self._last = self._last, changed.mark
        old = self.session.messages
        messages = joined(old, [*changed.again, *changed.new])
        if messages is None:
            return super()._read()
        self.session: Session = replace(self.session, messages=messages)
        return NewMessages()

    def _end(self) -> FilePosition | None:
        found = transcript_at(self._row.tool, self._row.key, self._row.path)
        try:
            return current_position(*found) if found else None
        except FileNotFoundError:
            return None  # the tool deleted the file; the archive may have a copy

    def _changed(self) -> MessageDelta | None:
        found = transcript_at(self._row.tool, self._row.key, self._row.path)
        try:
            return read_new_messages(*found, self._before) if found and self._before else None
        except FileNotFoundError:
            return None


def joined(
    old: Sequence[SessionMessage], latest: Sequence[SessionMessage]
) -> list[SessionMessage] | None:
    """Return the messages `old`, with the messages at their end replaced by `latest`.

    The replaced end starts at the first old message whose id is also in `latest`. Return None if
    `latest` lacks a message of this end.
    """
    places = {message.id: place for place, message in enumerate(old)}
    first = min((places[m.id] for m in latest if m.id in places), default=len(old))
    ids = {message.id for message in latest}
    if any(message.id not in ids for message in old[first:]):
        return None
    return [*old[:first], *latest]
