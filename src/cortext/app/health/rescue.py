"""What can be had of damaged lines, and what is wrong with them. Nothing here reads or writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from cortext.app.health.problem import NOTE, WARNING, Trouble
from cortext.formats import checksum
from cortext.formats.records import RecordTable, decode_lines, decode_record
from cortext.model import json
from cortext.model.message import SessionMessage

_NULS = re.compile(rb"\0+")
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CUT = "a character is cut in the middle"
IsHead = Callable[[bytes], bool]


class Rescued(NamedTuple):
    """The records of a file as lines without their newlines, its `heads` with the numbers of their
    lines, where it holds any, what is `torn` off its end, and what is wrong. `messages` are those
    of the lines, `answered` the ids of the tool calls that ride on them; `lost` is how many lines
    may have held one that nobody can read."""

    lines: Sequence[bytes]
    messages: Sequence[SessionMessage]
    heads: Sequence[tuple[int, bytes]]
    torn: bytes
    troubles: Sequence[Trouble]
    answered: frozenset[str] = frozenset()
    lost: int = 0

    @property
    def to_write(self) -> bool:
        """Whether the file has to be written anew: a torn end can be cut off."""
        mendable = sum(trouble.mends for trouble in self.troubles)
        return mendable > bool(self.torn)


def rescue_lines(
    data: bytes, table: RecordTable, is_head: IsHead | None = None, *, first: int = 1
) -> Rescued:
    """Every record that can be had of lines, of which the first has the number `first`."""
    return _quickly(data, table) or _Rescue(table, is_head).run(data, first)


def _quickly(data: bytes, table: RecordTable) -> Rescued | None:
    """For lines with which nothing at all is wrong: they are many."""
    if not data.endswith(b"\n") and data:
        return None
    if HALF.search(data) or b'"crc"' in data:
        return None
    found = decode_lines(data, table)
    lines = [line for line in data.split(b"\n") if line.strip()]
    if found.damages or len(lines) != len(found.messages):
        return None
    answered = frozenset(call.id for _, call in found.invocations)
    return Rescued(lines, found.messages, (), b"", (), answered)


class _Rescue:
    def __init__(self, table: RecordTable, is_head: IsHead | None) -> None:
        self._table, self._is_head = table, is_head
        self._lines: list[bytes] = []
        self._messages: list[SessionMessage] = []
        self._heads: list[tuple[int, bytes]] = []
        self._answered: set[str] = set()
        self._lost = 0
        self._troubles: list[Trouble] = []
        self._known: dict[str, bytes] = {}
        self._again: list[int] = []

    def run(self, data: bytes, first: int) -> Rescued:
        *whole, tail = data.split(b"\n")
        joined = False
        for number, line in enumerate(whole, first):
            after = whole[number - first + 1] if number - first + 1 < len(whole) else b""
            if joined:
                joined = False
            elif self._goes_on(line, after):
                self._say("a newline stands in the middle of a message", number, WARNING)
                self._line(line + after, number)
                joined = True
            elif line.strip():
                self._line(line, number)
        self._tell_repeated()
        torn = b""
        if tail.strip():
            torn = self._tail(tail, first + len(whole))
        return Rescued(
            self._lines,
            self._messages,
            self._heads,
            torn,
            sorted(self._troubles, key=lambda trouble: trouble.line or 0),
            frozenset(self._answered),
            self._lost,
        )

    def _line(self, line: bytes, number: int) -> None:
        pieces = [line]
        if b"\0" in line:
            lost = line.count(b"\0")
            self._say(f"{lost} NUL bytes stand where something was written", number)
            pieces = [piece for piece in _NULS.split(line) if piece.strip()]
            self._lost += not pieces
        for piece in pieces:
            self._piece(piece, number)

    def _goes_on(self, line: bytes, after: bytes) -> bool:
        """Whether two lines are one message: readers that look at no newlines find it."""
        if not line.startswith(b"{") or line.endswith(b"}") or after.startswith(b"{"):
            return False
        return self._is_record(line + after)

    def _piece(self, piece: bytes, number: int) -> None:
        if self._is_head is not None and self._is_head(piece):
            self._heads.append((number, piece))
            return
        piece = self._checked(piece, number)
        whole = whole_characters(piece)
        try:
            record = decode_record(whole or piece, self._table, notes := [])
        except ValueError as error:
            self._say(f"this is no message that can be read: {error}", number)
            self._lost += 1
            return
        message = record.message
        self._answered.update(call.id for call in record.invocations)
        if whole is not None:
            self._say(f"{_CUT}, in message {message.id!r:.60}", number, WARNING)
        for note in notes:
            self._say(note, number, NOTE, mends=False)
        self._add(whole or piece, message, number)

    def _checked(self, line: bytes, number: int) -> bytes:
        """A line as its checksum says that it was."""
        if checksum.is_sound(line):
            return line
        better = checksum.mended(line)
        if better is not None and self._is_record(better):
            id = decode_record(better, self._table, []).message.id
            self._say(f"one bit of message {id!r:.60} is flipped: its checksum tells which", number)
            return better
        id = decode_record(line, self._table, []).message.id if self._is_record(line) else "?"
        text = f"message {id!r:.60} is not what was written: its checksum is another"
        self._say(text, number, mends=False)
        return line

    def _add(self, line: bytes, message: SessionMessage, number: int) -> None:
        known = self._known.setdefault(message.id, line)
        if known is not line and known == line:
            self._again.append(number)
            return
        if known is not line:
            self._say(
                f"the id {message.id!r:.60} stands on two messages", number, NOTE, mends=False
            )
        self._lines.append(line)
        self._messages.append(message)

    def _tell_repeated(self) -> None:
        if self._again:
            lines = _runs(self._again)
            text = f"{lines} the same messages once more"
            self._troubles.append(Trouble(text, self._again[0], WARNING))

    def _tail(self, tail: bytes, number: int) -> bytes:
        if self._is_record(tail):
            self._add(tail, decode_record(tail, self._table, []).message, number)
            return b""
        text = f"the last line is torn: {len(tail)} bytes were not written to their end"
        self._say(text, number, WARNING)
        return tail

    def _is_record(self, line: bytes) -> bool:
        try:
            decode_record(line, self._table, [])
        except ValueError:
            return False
        return True

    def _say(self, text: str, line: int, severity: str = "error", *, mends: bool = True) -> None:
        self._troubles.append(Trouble(text, line, severity, mends))


def whole_characters(line: bytes) -> bytes | None:
    """A line of JSON without halves of characters, which stand as U+FFFD; None if it has none. Its
    checksum is one of what it is now."""
    text = line.decode("utf-8", "replace")
    data = text.encode("utf-8")
    if data == line and not HALF.search(line):
        return None
    try:
        value = json.decode(checksum.unseal(data))
    except ValueError:
        return None
    better = whole_value(value)
    if better == value and data == line:
        return None
    new = json.encode(better)
    return checksum.seal(new) if checksum.is_sealed(line) else new


def whole_value(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            whole_value(key): whole_value(item)
            for key, item in cast("dict[Any, Any]", value).items()
        }
    return value


def _runs(numbers: Sequence[int]) -> str:
    """Numbers of lines, in words."""
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"lines {numbers[0]} to {numbers[-1]} are"
    return f"{len(numbers)} lines are"
