"""Following a conversation: which messages are new at each check.

A file to which lines are appended is read from the last position. After any other change, the file
is read as a whole and compared with the old messages. Therefore no message is missed or reported
twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from cortext.errors import SessionNotFoundError
from cortext.features.watch.change_watcher import fingerprint_file
from cortext.features.watch.followed_sources import LiveSource, Prints
from cortext.formats.message_history import is_abandoned
from cortext.formats.record_lines import Damage
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.tools.new_messages import FilePosition, mark_of, since

_PATIENCE = 1.0
"""Seconds until a missing file counts as deleted. Before that, a program may be replacing it."""
_DELETED = "it was deleted"


class NewMessages(NamedTuple):
    """The result of a check for new messages.

    `new` has the numbers, counted from 1, of new or changed messages. `note` is a note for the
    user, or "". `over` says why no more messages will come, or is "". `damages` are parts that have
    become unreadable.
    """

    new: Sequence[int] = ()
    note: str = ""
    over: str = ""
    damages: Sequence[Damage] = ()


class ConversationTail:
    """A conversation that is read once, and then checked for new messages.

    `session` has everything that was read. `damages` has the parts that could not be read. `over`
    says why no more messages will come, or is "".
    """

    def __init__(self, growing: LiveSource) -> None:
        self._growing = growing
        self._prints: Prints = ()
        self._mark: FilePosition | None = None
        self._gone: float | None = None
        self.damages: list[Damage] = []
        self.session: Session = self._whole()
        self.over: str = growing.over()

    def news(self) -> NewMessages | None:
        """Return the messages that are new since the last check, or None if nothing changed.

        Also return None if the file disappeared a moment ago, because a program may be replacing
        it.
        """
        prints = self._growing.prints()
        if prints == self._prints and self._gone is None:
            return None
        if not self._growing.is_there() and not self._is_long_gone():
            return None
        try:
            # Set before reading, so that a change during the read counts as new next time.
            self._prints = prints
            found = self._read()
            over = self._growing.over()
        except (FileNotFoundError, SessionNotFoundError):
            return NewMessages(over=_DELETED) if self._is_long_gone() else None
        self._gone = None
        return found._replace(over=over, note="" if over else found.note)

    def _is_long_gone(self) -> bool:
        """Return whether the conversation has been missing for longer than `_PATIENCE` seconds.

        Also forget the position in the file, because the conversation may reappear in another file.
        """
        now = time.monotonic()
        self._gone = self._gone or now
        self._mark = None
        return now > self._gone + _PATIENCE

    def _read(self) -> NewMessages:
        said = self._lately()
        if said is not None:
            count = len(self.session.messages)
            self.session.messages += said
            return NewMessages(range(count + 1, count + len(said) + 1))
        old, known = self.session, len(self.damages)
        self.session = self._whole()
        news = compare_messages(old.messages, self.session.messages)
        return news._replace(damages=tuple(self.damages[known:]))

    def _lately(self) -> Sequence[SessionMessage] | None:
        """Return the messages in appended lines, or None if the whole file must be read."""
        lately = since(self._growing.path, self._mark) if self._mark else None
        if lately is None:
            return None
        said = self._growing.follow(lately) if lately.after else ()
        self._mark = lately.mark if said is not None else None
        return said

    def _whole(self) -> Session:
        """Read the whole conversation.

        Store the end of the file as the position for the next check, unless the file changed
        meanwhile.
        """
        self._mark = None
        self._prints = self._growing.prints()
        path = self._growing.path
        before = fingerprint_file(path)
        mark = mark_of(path) if before else None
        session, damages = self._growing.read()
        self.damages += [each for each in damages if each.fatal and each not in self.damages]
        whole = mark and before and mark.size == before[2]
        if whole and path == self._growing.path and fingerprint_file(path) == before:
            self._mark = mark
        return session


def compare_messages(old: Sequence[SessionMessage], new: Sequence[SessionMessage]) -> NewMessages:
    """Compare the messages from before and after a rewrite of the file.

    The result has the numbers of the new messages, and a note if old messages are gone.
    """
    keys = [_key(message) for message in old]
    if [_key(message) for message in new[: len(old)]] == keys:
        return NewMessages(_speaking(new, range(len(old) + 1, len(new) + 1)))
    known = set(keys)
    there = {message.id for message in new if not is_abandoned(message)}
    gone = sum(1 for m in old if m.id not in there and not is_abandoned(m))
    numbers = [
        number
        for number, message in enumerate(new, 1)
        if _key(message) not in known and not is_abandoned(message)
    ]
    what = "1 message is" if gone == 1 else f"{gone} messages are"
    numbers = _speaking(new, numbers)
    return NewMessages(numbers, f"it went back: {what} no longer part of it" if gone else "")


def _speaking(messages: Sequence[SessionMessage], numbers: Sequence[int]) -> Sequence[int]:
    """Return the numbers without an empty answer at the end.

    OpenCode writes such an answer before it has any text.
    """
    last = messages[-1] if numbers and numbers[-1] == len(messages) else None
    begun = last and last.role == "assistant" and not (last.content or last.tool_calls)
    return numbers[:-1] if begun else numbers


def _key(message: SessionMessage) -> tuple[str, str, str, int, bool]:
    calls = len(message.tool_calls or ())
    return message.id, message.role, message.content, calls, is_abandoned(message)
