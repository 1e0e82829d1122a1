"""Follow a conversation, and find its new messages at each check.

If lines were appended to the file, only these lines are read. After any other change, the whole
file is read and compared with the old messages. Therefore no message is missed or reported twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from cortext.errors import SessionNotFoundError
from cortext.features.watch.change_watcher import fingerprint_file
from cortext.features.watch.live_sources import LiveSource, Prints
from cortext.formats.history_in_order import is_abandoned
from cortext.formats.message_lines import Damage
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.tools.new_transcript_lines import FilePosition, mark_of, since

_DELETED_SECONDS = 1.0
"""Seconds after which a missing file counts as deleted.

A file may be missing for a moment while a program replaces it.
"""
_DELETED = "the conversation was deleted"


class NewMessages(msgspec.Struct, frozen=True):
    """The result of a check for new messages.

    `new` has the numbers of new or changed messages, counted from 1. `note` is a note for the user,
    or "". `over` is the reason why no more messages will come, or "". `damages` are parts that have
    become unreadable.
    """

    new: Sequence[int] = ()
    note: str = ""
    over: str = ""
    damages: Sequence[Damage] = ()


class ConversationTail:
    """A conversation that is read once, and then checked for new messages.

    `session` has all messages that were read so far. `damages` has the parts that could not be
    read. `over` is the reason why no more messages will come, or "".
    """

    def __init__(self, source: LiveSource) -> None:
        self._source = source
        self._fingerprints: Prints = ()
        self._position: FilePosition | None = None
        self._missing_since: float | None = None
        self.damages: list[Damage] = []
        self.session: Session = self._whole()
        self.over: str = source.over()

    def news(self) -> NewMessages | None:
        """Return the messages that are new since the last check, or None if nothing changed.

        Also return None if the file has been missing for less than a second, because a program may
        be replacing it.
        """
        fingerprints = self._source.prints()
        if fingerprints == self._fingerprints and self._missing_since is None:
            return None
        if not self._source.is_there() and not self._is_long_gone():
            return None
        try:
            # Set before reading, so that a change during the read counts as new next time.
            self._fingerprints = fingerprints
            found = self._read()
            over = self._source.over()
        except (FileNotFoundError, SessionNotFoundError):
            return NewMessages(over=_DELETED) if self._is_long_gone() else None
        self._missing_since = None
        return replace(found, over=over, note="" if over else found.note)

    def _is_long_gone(self) -> bool:
        """Return whether the conversation has been missing for `_DELETED_SECONDS` seconds.

        Also forget the position in the file, because the conversation may reappear in another file.
        """
        now = time.monotonic()
        self._missing_since = self._missing_since or now
        self._position = None
        return now > self._missing_since + _DELETED_SECONDS

    def _read(self) -> NewMessages:
        appended = self._read_appended()
        if appended is not None:
            count = len(self.session.messages)
            self.session.messages += appended
            return NewMessages(range(count + 1, count + len(appended) + 1))
        old, known = self.session, len(self.damages)
        self.session = self._whole()
        news = compare_messages(old.messages, self.session.messages)
        return replace(news, damages=tuple(self.damages[known:]))

    def _read_appended(self) -> Sequence[SessionMessage] | None:
        """Return the messages in appended lines, or None if the whole file must be read."""
        lines = since(self._source.path, self._position) if self._position else None
        if lines is None:
            return None
        messages = self._source.follow(lines) if lines.after else ()
        self._position = lines.mark if messages is not None else None
        return messages

    def _whole(self) -> Session:
        """Read and return the whole conversation.

        Remember the end of the file as the position for the next check, unless the file changed
        during the read.
        """
        self._position = None
        self._fingerprints = self._source.prints()
        path = self._source.path
        before = fingerprint_file(path)
        position = mark_of(path) if before else None
        session, damages = self._source.read()
        self.damages += [each for each in damages if each.fatal and each not in self.damages]
        is_whole = position and before and position.size == before[2]
        if is_whole and path == self._source.path and fingerprint_file(path) == before:
            self._position = position
        return session


def compare_messages(old: Sequence[SessionMessage], new: Sequence[SessionMessage]) -> NewMessages:
    """Compare the messages before and after a rewrite of the file.

    The result has the numbers of the messages in `new` that were added or changed, counted from 1.
    It also has a note for the user if messages of `old` are gone.
    """
    keys = [_key(message) for message in old]
    if [_key(message) for message in new[: len(old)]] == keys:
        return NewMessages(_drop_empty_answer(new, range(len(old) + 1, len(new) + 1)))
    known = set(keys)
    remaining = {message.id for message in new if not is_abandoned(message)}
    gone = sum(1 for m in old if m.id not in remaining and not is_abandoned(m))
    numbers = [
        number
        for number, message in enumerate(new, 1)
        if _key(message) not in known and not is_abandoned(message)
    ]
    what = "1 message is" if gone == 1 else f"{gone} messages are"
    numbers = _drop_empty_answer(new, numbers)
    return NewMessages(
        numbers, f"The conversation was rewound: {what} no longer part of it." if gone else ""
    )


def _drop_empty_answer(messages: Sequence[SessionMessage], numbers: Sequence[int]) -> Sequence[int]:
    """Return `numbers` without the number of the last message if that message is an empty answer.

    OpenCode writes an answer to the file before the answer has any text.
    """
    last = messages[-1] if numbers and numbers[-1] == len(messages) else None
    is_empty = last and last.role == "assistant" and not (last.content or last.tool_calls)
    return numbers[:-1] if is_empty else numbers


def _key(message: SessionMessage) -> tuple[str, str, str, int, bool]:
    calls = len(message.tool_calls or ())
    return message.id, message.role, message.content, calls, is_abandoned(message)
