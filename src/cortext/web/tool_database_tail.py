"""Read new messages for an open web page, if a tool stores the session in a database.

Each check reads only the rows that may have changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.features.capture.transcripts import current_position, read_new_messages, transcript_at
from cortext.features.watch.conversation_tail import ConversationTail, NewMessages
from cortext.features.watch.live_sources import LiveSource
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.tools.new_transcript_lines import FilePosition, MessageDelta


class RowsTail(ConversationTail):
    """A `ConversationTail` for a session that a tool stores as rows of a database.

    Times in the database are in milliseconds, so a row may change again in the millisecond in which
    it was read. For this reason, each check also reads the rows of the previous check again.
    """

    def __init__(self, growing: LiveSource, row: ConversationRow) -> None:
        self._row = row
        self._last: FilePosition | None = None
        self._previous: FilePosition | None = None
        super().__init__(growing)

    def _whole(self) -> Session:
        # Get the position before reading, so that a row added meanwhile is read twice, not missed.
        self._previous = self._last = self._find_position()
        return super()._whole()

    def _read(self) -> NewMessages:
        changed = self._read_changes()
        if changed is None:
            return super()._read()
        self._previous, self._last = self._last, changed.mark
        old = self.session.messages
        messages = joined(old, [*changed.again, *changed.new])
        if messages is None:
            return super()._read()
        self.session: Session = replace(self.session, messages=messages)
        return NewMessages()

    def _find_position(self) -> FilePosition | None:
        transcript = transcript_at(self._row.tool, self._row.key, self._row.path)
        try:
            return current_position(*transcript) if transcript else None
        except FileNotFoundError:
            return None  # the tool deleted the file; the archive may have a copy

    def _read_changes(self) -> MessageDelta | None:
        transcript = transcript_at(self._row.tool, self._row.key, self._row.path)
        try:
            return (
                read_new_messages(*transcript, self._previous)
                if transcript and self._previous
                else None
            )
        except FileNotFoundError:
            return None


def joined(
    old: Sequence[SessionMessage], latest: Sequence[SessionMessage]
) -> list[SessionMessage] | None:
    """Update the messages `old` with the messages `latest`, and return the result.

    `latest` has new messages, and changed versions of old messages. The old messages before the
    first changed message stay, and `latest` replaces all others. Return None if `latest` lacks one
    of the messages to replace.
    """
    indexes = {message.id: place for place, message in enumerate(old)}
    first = min((indexes[m.id] for m in latest if m.id in indexes), default=len(old))
    ids = {message.id for message in latest}
    if any(message.id not in ids for message in old[first:]):
        return None
    return [*old[:first], *latest]
