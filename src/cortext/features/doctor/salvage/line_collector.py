"""What is gathered of damaged lines, one after the other. Nothing here reads or writes."""

from __future__ import annotations

from cortext.features.doctor.problem import NOTE, PROBLEM, WARNING, Trouble, counted
from cortext.features.doctor.salvage.salvage_result import Rescued, runs
from cortext.formats.record_lines import MOST_DAMAGES, Record
from cortext.model.message import SessionMessage


class Collected:
    """The heads and records so far, and what is wrong with the lines that they come from."""

    def __init__(self) -> None:
        self.heads: list[tuple[int, bytes]] = []
        self.messages: list[SessionMessage] = []
        self.lost: int = 0
        self._lines: list[bytes] = []
        self._answered: set[str] = set()
        self._unread: list[int] = []
        self._troubles: list[Trouble] = []
        self._known: dict[str, bytes] = {}
        self._again: list[int] = []

    def take(self, line: bytes, record: Record, number: int) -> None:
        """A record, unless the very same stands there already."""
        self._answered.update(call.id for call in record.invocations)
        message = record.message
        known = self._known.setdefault(message.id, line)
        if known is not line and known == line:
            self._again.append(number)
            return
        if known is not line:
            self.say(f"the id {message.id!r:.60} stands on two messages", number, NOTE, mends=False)
        self._lines.append(line)
        self.messages.append(message)

    def say(self, text: str, line: int, severity: str = PROBLEM, *, mends: bool = True) -> None:
        self._troubles.append(Trouble(text, line, severity, mends))

    def lose(self, number: int) -> bool:
        """A line that nobody can read; whether it is to be said why. Of very many it is not, one by
        one: nobody reads that, and it takes its time."""
        self.lost += 1
        self._unread.append(number)
        return len(self._unread) <= MOST_DAMAGES

    def rescued(self, torn: bytes) -> Rescued:
        """All of it, and what is `torn` off the end."""
        self._tell_the_rest()
        nothing = bool(self._unread) and not self.messages
        troubles = sorted(self._troubles, key=lambda trouble: trouble.line or 0)
        if nothing:
            troubles = [trouble._replace(mends=False) for trouble in troubles]
            torn = b""
        return Rescued(
            self._lines,
            self.messages,
            self.heads,
            torn,
            troubles,
            frozenset(self._answered),
            self.lost,
            nothing,
        )

    def _tell_the_rest(self) -> None:
        rest = self._unread[MOST_DAMAGES:]
        if rest:
            more = counted(len(rest), "more line")
            self.say(f"{more} cannot be read as messages, this one first", rest[0])
        if self._again:
            text = f"{runs(self._again)} the same messages once more"
            self.say(text, self._again[0], WARNING)
