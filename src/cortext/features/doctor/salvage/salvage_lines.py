"""Salvage the records of a damaged file with one JSON record per line, and describe the damage.

This module reads and writes no files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import accumulate
from typing import Any, NamedTuple

from cortext.features.doctor.problem import (
    CONFLICT,
    NOTE,
    PROBLEM,
    WARNING,
    Trouble,
    describe_nuls,
    pluralize,
    reword_decode_error,
)
from cortext.features.doctor.salvage.json_scan import (
    encode_object_line,
    find_objects,
    inner_messages,
    may_be_object,
)
from cortext.features.doctor.salvage.line_records import (
    SalvagedLines,
    describe_lines,
    describe_torn_tail,
    read_sound_lines,
    sort_by_time,
)
from cortext.features.doctor.salvage.text_encoding import (
    convert_to_utf8,
    decode_text,
    describe_bad_text,
    remove_checksum,
    repair_record_characters,
    split_conflict,
)
from cortext.formats import line_checksum
from cortext.formats.record_lines import (
    MOST_DAMAGES,
    Record,
    RecordTable,
    decode_record,
)
from cortext.model import json_codec, record_dicts
from cortext.model.message import ROLES, SessionMessage

_NULS = re.compile(rb"\0+")
_FILLING = " \t\r\n[],"
IsHead = Callable[[bytes], bool]


def salvage_lines(
    data: bytes, table: RecordTable, is_head: IsHead | None = None, *, first: int = 1
) -> SalvagedLines:
    """Return every record that can be read from a damaged file with one record per line.

    `table` is the record format of the file. `is_head` says whether a line is a session head; None
    if the file has no heads. `first` is the number of the first line.
    """
    sound = read_sound_lines(data, table, first)
    if sound is not None:
        return sound
    data, troubles = unify_text(data, first)
    rescued = _LineSalvage(table, is_head).run(data, first)
    if any(trouble.is_conflict for trouble in troubles):
        rescued = sort_by_time(rescued)
    if rescued.nothing:
        troubles = [trouble._replace(mends=False) for trouble in troubles]
    return rescued._replace(troubles=[*troubles, *rescued.troubles])


def unify_text(data: bytes, first: int = 1) -> tuple[bytes, list[Trouble]]:
    """Return a file in UTF-8 without git conflict markers, and the damage found.

    The lines of both sides of a conflict are kept. `first` is the number of the first line.
    """
    troubles: list[Trouble] = []
    data, was = convert_to_utf8(data)
    if was:
        troubles.append(Trouble(f"it is written in {was}", first, WARNING))
    sides = split_conflict(data)
    if sides:
        text = f"{CONFLICT}: the messages of both sides are kept"
        troubles.append(Trouble(text, sides.lines[0] + first - 1))
        data = sides.both
    return data, troubles


class _BadLine(NamedTuple):
    """A line that is not a complete record, and its number."""

    number: int
    line: bytes


class _LineSalvage:
    def __init__(self, table: RecordTable, is_head: IsHead | None) -> None:
        self._table, self._is_head = table, is_head
        self._waiting: list[_BadLine] = []
        self._got = LineCollector()

    def run(self, data: bytes, first: int) -> SalvagedLines:
        *whole, tail = (line.rstrip(b"\r") for line in data.split(b"\n"))
        joined = False
        for number, line in enumerate(whole, first):
            after = whole[number - first + 1] if number - first + 1 < len(whole) else b""
            if joined:
                joined = False
            elif self._goes_on(line, after):
                self._got.say("a newline stands in the middle of a message", number, WARNING)
                self._line(line + after, number)
                joined = True
            elif line.strip():
                self._line(line, number)
        torn = self._tail(tail, first + len(whole)) if tail.strip() else b""
        self._look_into_waiting()
        return self._got.rescued(torn)

    def _line(self, line: bytes, number: int) -> None:
        pieces = [line]
        if b"\0" in line:
            self._got.say(describe_nuls(line.count(b"\0")), number)
            pieces = [piece for piece in _NULS.split(line) if piece.strip()]
            self._got.lost += not pieces
        for piece in pieces:
            self._piece(piece, number)

    def _goes_on(self, line: bytes, after: bytes) -> bool:
        """Return whether these two lines are one message with a newline in the middle."""
        if not line.startswith(b"{") or line.endswith(b"}") or after.startswith(b"{"):
            return False
        return after.rstrip().endswith(b"}") and self._is_record(line + after)

    def _piece(self, piece: bytes, number: int) -> None:
        if not may_be_object(piece):
            self._waiting.append(_BadLine(number, piece))
            return
        if self._is_head is not None and self._is_head(piece):
            self._look_into_waiting()
            self._got.heads.append((number, piece))
            return
        piece = self._checked(piece, number)
        whole = repair_record_characters(piece, self._table)
        try:
            record = decode_record(whole or piece, self._table, notes := [])
        except ValueError:
            if not self._is_of_another_role(whole or piece, number):
                self._waiting.append(_BadLine(number, piece))
            return
        self._look_into_waiting()
        if whole is not None:
            text = f"{describe_bad_text(piece)}, in message {record.message.id!r:.60}"
            self._got.say(text, number, WARNING)
        for note in notes:
            self._got.say(note, number, NOTE, mends=False)
        self._got.take(whole or piece, record, number)

    def _is_of_another_role(self, line: bytes, number: int) -> bool:
        """Add a line as a message if only its role is unknown; return whether it was added."""
        key = self._table.names.get("role", "role")
        try:
            value = record_dicts.as_dict(json_codec.decode(line_checksum.unseal(line)))
            known = with_known_role(remove_checksum(value), key)
            if known is None:
                return False
            line = json_codec.encode(known)
            record = decode_record(line, self._table, [])
        except ValueError:
            return False
        self._look_into_waiting()
        text = f"its `{key}` is {value[key]!r:.60}, which is none that we know: "
        self._got.say(f"{text}it is kept as {known[key]}", number)
        self._got.take(line, record, number)
        return True

    def _look_into_waiting(self) -> None:
        """Search the waiting lines, which are not records on their own, for records.

        Such records are in a list, several on a line, or spread over many lines.
        """
        if not self._waiting:
            return
        rows, self._waiting = self._waiting, []
        parts = [decode_text(row.line)[0] for row in rows]
        starts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0))
        text, used, found = "\n".join(parts), set[int](), 0
        for piece in find_objects(text):
            first = bisect_right(starts, piece.start) - 1
            before, number = len(self._got.heads), rows[first].number
            got = self._wants(piece.value) and self._found(encode_object_line(text, piece), number)
            inner = filter(self._wants, inner_messages(piece.value))
            got += sum(self._found(json_codec.encode(value), number) for value in inner)
            if got:
                used.update(range(first, bisect_right(starts, piece.end - 1)))
                found += got - (len(self._got.heads) - before)
        self._tell(rows, parts, used, found)

    def _tell(
        self, rows: Sequence[_BadLine], parts: Sequence[str], used: set[int], found: int
    ) -> None:
        if found:
            are = "1 message is" if found == 1 else f"{found} messages are"
            self._got.say(f"{are} not on a line alone", rows[0].number, WARNING)
        for place, (row, part) in enumerate(zip(rows, parts, strict=True)):
            if place in used:
                continue
            if part.strip(_FILLING):
                self._cannot_read(row)
            elif not used:
                self._got.say("brackets stand here, and no message", row.number, WARNING)

    def _wants(self, value: dict[str, Any]) -> bool:
        """Return whether an object may be a head or a record. Skipping others saves time."""
        return self._is_head is not None or self._table.names.get("role", "role") in value

    def _found(self, line: bytes, number: int) -> bool:
        """Add an object if it is a head or a record, and return whether it was added."""
        if self._is_head is not None and self._is_head(line):
            self._got.heads.append((number, line))
            return True
        line = self._resealed(line, number)
        line = repair_record_characters(line, self._table) or line
        try:
            record = decode_record(line, self._table, [])
        except ValueError:
            dated = self._dated(line)
            if dated is None:
                return False
            text = "a message has no time: it gets that of the one before it"
            self._got.say(text, number, WARNING)
            line, record = dated
        self._got.take(line, record, number)
        return True

    def _dated(self, line: bytes) -> tuple[bytes, Record] | None:
        """Return a message that lacks a readable time, with the time of the message before it.

        Return None if there is no message before it, or the line has other damage.
        """
        if not self._got.messages:
            return None
        try:
            value = record_dicts.as_dict(json_codec.decode(line_checksum.unseal(line)))
            if not isinstance(value.get("content"), str):
                return None
            value["timestamp"] = record_dicts.iso(self._got.messages[-1].timestamp)
            dated = json_codec.encode(value)
            return dated, decode_record(dated, self._table, [])
        except (ValueError, OverflowError):
            return None

    def _cannot_read(self, row: _BadLine) -> None:
        if not self._got.lose(row.number):
            return
        try:
            decode_record(row.line, self._table, [])
            why = "it is none of ours"
        except ValueError as error:
            why = reword_decode_error(str(error))
        self._got.say(f"this is no message that can be read: {why}", row.number)

    def _checked(self, line: bytes, number: int) -> bytes:
        """Report a checksum mismatch; return the line, repaired if one flipped bit explains it."""
        if line_checksum.is_sound(line):
            return line
        better = line_checksum.mended(line)
        if better is not None and self._is_record(better):
            id = decode_record(better, self._table, []).message.id
            text = f"one bit of message {id!r:.60} is flipped: its checksum tells which"
            self._got.say(text, number)
            return better
        id = decode_record(line, self._table, []).message.id if self._is_record(line) else "?"
        text = f"message {id!r:.60} is not what was written: its checksum is another"
        self._got.say(text, number, mends=False)
        return line

    def _resealed(self, line: bytes, number: int) -> bytes:
        """Return a record that another program may have rewritten, with a valid checksum or none.

        A checksum matches only our own encoding of the record.
        """
        if line_checksum.KEY.encode() not in line or not self._is_record(line):
            return line
        value = record_dicts.as_dict(json_codec.decode(line))
        if line_checksum.KEY not in value:
            return line
        ours = json_codec.encode(value)
        if line_checksum.is_sealed(ours) and line_checksum.is_sound(ours):
            return ours
        better = line_checksum.mended(ours) if line_checksum.is_sealed(ours) else None
        if better is not None and self._is_record(better):
            return self._checked(ours, number)
        text = "a checksum is not of what stands here, and is taken away"
        self._got.say(text, number, WARNING)
        return json_codec.encode(remove_checksum(value))

    def _tail(self, tail: bytes, number: int) -> bytes:
        """Return the torn last line; b"" if that line is complete, alone or with lines before."""
        if self._is_whole(tail.strip(b"\0")):
            self._line(tail, number)
            return b""
        torn = describe_torn_tail(tail, number)
        self._got.say(torn.text, number, torn.severity)
        return tail

    def _is_whole(self, tail: bytes) -> bool:
        if not tail.strip(_FILLING.encode()) or self._is_record(tail):
            return bool(tail)
        text = "\n".join(decode_text(line)[0] for line in (*(r.line for r in self._waiting), tail))
        start = len(text) - len(decode_text(tail)[0])
        ends = [piece for piece in find_objects(text) if piece.end > start]
        return any(
            self._is_record(encode_object_line(text, piece)) or inner_messages(piece.value)
            for piece in ends
        )

    def _is_record(self, line: bytes) -> bool:
        try:
            decode_record(line, self._table, [])
        except ValueError:
            return False
        return True


_OTHERS = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
"""Role names of other programs, and the roles of cortext that they mean."""
_NEAR = 0.7
"""The similarity of two words that differ by one flipped or added letter."""


def with_known_role(value: dict[str, Any], key: str = "role") -> dict[str, Any] | None:
    """Return a message record whose invalid role is corrected; None if its role is valid.

    A misspelt role, or a role name of another program, becomes the role that it means. Any other
    role becomes "assistant" with the old role as name, so that nobody takes the message for words
    of the user or for an instruction. `key` is the field with the role.
    """
    role = value.get(key)
    if not isinstance(role, str) or not role or role in ROLES:
        return None
    word = role.strip().casefold()
    near = get_close_matches(word, ROLES, 1, _NEAR)
    meant = _OTHERS.get(word) or (near[0] if near else "")
    if meant:
        return {**value, key: meant}
    return {**value, key: "assistant", "name": value.get("name") or role}


class LineCollector:
    """The session heads and records found in a file so far, and the damage of its lines.

    `lost` is the number of lines that cannot be read.
    """

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
        """Add the record of line `number`, unless an identical line was added before."""
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
        """Count line `number` as unreadable, and return whether to report the reason.

        After many such lines the reasons are not reported one by one: nobody reads them, and they
        take time.
        """
        self.lost += 1
        self._unread.append(number)
        return len(self._unread) <= MOST_DAMAGES

    def rescued(self, torn: bytes) -> SalvagedLines:
        """Return everything that was collected, with `torn` as the incomplete last line."""
        self._tell_the_rest()
        nothing = bool(self._unread) and not self.messages
        troubles = sorted(self._troubles, key=lambda trouble: trouble.line or 0)
        if nothing:
            troubles = [trouble._replace(mends=False) for trouble in troubles]
            torn = b""
        return SalvagedLines(
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
            more = pluralize(len(rest), "more line")
            self.say(f"{more} cannot be read as messages, this one first", rest[0])
        if self._again:
            text = f"{describe_lines(self._again)} the same messages once more"
            self.say(text, self._again[0], WARNING)
