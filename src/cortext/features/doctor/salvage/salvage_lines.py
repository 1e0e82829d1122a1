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

from cortext.features.doctor.check_results import (
    CONFLICT,
    NOTE,
    PROBLEM,
    WARNING,
    Trouble,
    describe_nuls,
    pluralize,
    reword_decode_error,
)
from cortext.features.doctor.salvage.damaged_text import (
    convert_to_utf8,
    decode_text,
    describe_bad_text,
    remove_checksum,
    repair_record_characters,
    split_conflict,
)
from cortext.features.doctor.salvage.json_scan import (
    encode_object_line,
    find_objects,
    inner_messages,
    may_be_object,
)
from cortext.features.doctor.salvage.salvaged_lines_result import (
    SalvagedLines,
    describe_lines,
    describe_torn_tail,
    read_sound_lines,
    sort_by_time,
)
from cortext.formats import line_checksum
from cortext.formats.message_lines import (
    MOST_DAMAGES,
    Record,
    RecordTable,
    decode_record,
)
from cortext.model import json_codec, message_dicts
from cortext.model.message import ROLES, SessionMessage

_NULS = re.compile(rb"\0+")
_SEPARATORS = " \t\r\n[],"
IsHead = Callable[[bytes], bool]


def salvage_lines(
    data: bytes, table: RecordTable, is_head: IsHead | None = None, *, first: int = 1
) -> SalvagedLines:
    """Return every record that can be read from a damaged file with one record per line.

    `table` is the record format of the file. `is_head` is a function that says whether a line is a
    head (a session without its messages), or None if the file has no heads. `first` is the line
    number at which `data` starts in the file.
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
    """Return the contents of a file in UTF-8 without git conflict markers, and the damage found.

    The lines of both sides of a conflict are kept. `first` is the line number at which `data`
    starts in the file.
    """
    troubles: list[Trouble] = []
    data, was = convert_to_utf8(data)
    if was:
        troubles.append(Trouble(f"the text is encoded as {was}", first, WARNING))
    sides = split_conflict(data)
    if sides:
        text = f"{CONFLICT}; the messages of both sides are kept"
        troubles.append(Trouble(text, sides.lines[0] + first - 1))
        data = sides.both
    return data, troubles


class _BadLine(NamedTuple):
    """A line that is not a complete record, and its number."""

    number: int
    line: bytes


class _LineSalvage:
    """Salvages the records in one damaged file.

    Lines that are not records are collected in `_bad_lines` until the next record. Then they are
    searched together, because a record may be spread over several lines.
    """

    def __init__(self, table: RecordTable, is_head: IsHead | None) -> None:
        self._table, self._is_head = table, is_head
        self._bad_lines: list[_BadLine] = []
        self._collector = LineCollector()

    def run(self, data: bytes, first: int) -> SalvagedLines:
        *lines, tail = (line.rstrip(b"\r") for line in data.split(b"\n"))
        joined = False
        for number, line in enumerate(lines, first):
            after = lines[number - first + 1] if number - first + 1 < len(lines) else b""
            if joined:
                joined = False
            elif self._is_split_record(line, after):
                self._collector.say("a line break splits a message", number, WARNING)
                self._add_line(line + after, number)
                joined = True
            elif line.strip():
                self._add_line(line, number)
        torn = self._read_tail(tail, first + len(lines)) if tail.strip() else b""
        self._search_bad_lines()
        return self._collector.rescued(torn)

    def _add_line(self, line: bytes, number: int) -> None:
        pieces = [line]
        if b"\0" in line:
            self._collector.say(describe_nuls(line.count(b"\0")), number)
            pieces = [piece for piece in _NULS.split(line) if piece.strip()]
            self._collector.lost += not pieces
        for piece in pieces:
            self._add_piece(piece, number)

    def _is_split_record(self, line: bytes, after: bytes) -> bool:
        """Return whether `line` and the next line, `after`, are one message that was split."""
        if not line.startswith(b"{") or line.endswith(b"}") or after.startswith(b"{"):
            return False
        return after.rstrip().endswith(b"}") and self._is_record(line + after)

    def _add_piece(self, piece: bytes, number: int) -> None:
        if not may_be_object(piece):
            self._bad_lines.append(_BadLine(number, piece))
            return
        if self._is_head is not None and self._is_head(piece):
            self._search_bad_lines()
            self._collector.heads.append((number, piece))
            return
        piece = self._verify_checksum(piece, number)
        repaired = repair_record_characters(piece, self._table)
        try:
            record = decode_record(repaired or piece, self._table, notes := [])
        except ValueError:
            if not self._add_with_known_role(repaired or piece, number):
                self._bad_lines.append(_BadLine(number, piece))
            return
        self._search_bad_lines()
        if repaired is not None:
            text = f"{describe_bad_text(piece)}, in message {record.message.id!r:.60}"
            self._collector.say(text, number, WARNING)
        for note in notes:
            self._collector.say(note, number, NOTE, mends=False)
        self._collector.take(repaired or piece, record, number)

    def _add_with_known_role(self, line: bytes, number: int) -> bool:
        """Add the message in a line to the result if an unknown role is its only damage.

        Return whether the message was added.
        """
        key = self._table.names.get("role", "role")
        try:
            value = message_dicts.as_dict(json_codec.decode(line_checksum.unseal(line)))
            known = with_known_role(remove_checksum(value), key)
            if known is None:
                return False
            line = json_codec.encode(known)
            record = decode_record(line, self._table, [])
        except ValueError:
            return False
        self._search_bad_lines()
        text = f"`{key}` has the unknown value {value[key]!r:.60}"
        self._collector.say(f"{text}; the message is kept as {known[key]}", number)
        self._collector.take(line, record, number)
        return True

    def _search_bad_lines(self) -> None:
        """Search the collected bad lines for records.

        A record may be inside a list, share a line with others, or be spread over many lines.
        """
        if not self._bad_lines:
            return
        rows, self._bad_lines = self._bad_lines, []
        parts = [decode_text(row.line)[0] for row in rows]
        starts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0))
        text, used, found = "\n".join(parts), set[int](), 0
        for piece in find_objects(text):
            first = bisect_right(starts, piece.start) - 1
            before, number = len(self._collector.heads), rows[first].number
            count = self._may_be_wanted(piece.value) and self._add_object(
                encode_object_line(text, piece), number
            )
            inner = filter(self._may_be_wanted, inner_messages(piece.value))
            count += sum(self._add_object(json_codec.encode(value), number) for value in inner)
            if count:
                used.update(range(first, bisect_right(starts, piece.end - 1)))
                found += count - (len(self._collector.heads) - before)
        self._report_bad_lines(rows, parts, used, found)

    def _report_bad_lines(
        self, rows: Sequence[_BadLine], parts: Sequence[str], used: set[int], found: int
    ) -> None:
        if found:
            text = f"{found} messages are not on lines of their own"
            text = "1 message is not on a line of its own" if found == 1 else text
            self._collector.say(text, rows[0].number, WARNING)
        for index, (row, part) in enumerate(zip(rows, parts, strict=True)):
            if index in used:
                continue
            if part.strip(_SEPARATORS):
                self._report_unreadable(row)
            elif not used:
                self._collector.say(
                    "the line contains brackets but no message", row.number, WARNING
                )

    def _may_be_wanted(self, value: dict[str, Any]) -> bool:
        """Return whether a JSON object may be a session head or a record, by a fast test."""
        return self._is_head is not None or self._table.names.get("role", "role") in value

    def _add_object(self, line: bytes, number: int) -> bool:
        """Add a session head or a record to the result, and return whether it was added.

        A line that is neither a session head nor a record is not added.
        """
        if self._is_head is not None and self._is_head(line):
            self._collector.heads.append((number, line))
            return True
        line = self._fix_checksum(line, number)
        line = repair_record_characters(line, self._table) or line
        try:
            record = decode_record(line, self._table, [])
        except ValueError:
            dated = self._add_time(line)
            if dated is None:
                return False
            text = "a message has no time; it gets the time of the message before it"
            self._collector.say(text, number, WARNING)
            line, record = dated
        self._collector.take(line, record, number)
        return True

    def _add_time(self, line: bytes) -> tuple[bytes, Record] | None:
        """Give a message without a readable time the time of the previous message.

        Return the new line and its record. Return None if there is no previous message, or if the
        line has other damage.
        """
        if not self._collector.messages:
            return None
        try:
            value = message_dicts.as_dict(json_codec.decode(line_checksum.unseal(line)))
            if not isinstance(value.get("content"), str):
                return None
            value["timestamp"] = message_dicts.iso(self._collector.messages[-1].timestamp)
            dated = json_codec.encode(value)
            return dated, decode_record(dated, self._table, [])
        except (ValueError, OverflowError):
            return None

    def _report_unreadable(self, row: _BadLine) -> None:
        if not self._collector.lose(row.number):
            return
        try:
            decode_record(row.line, self._table, [])
            why = "cortext did not write it"
        except ValueError as error:
            why = reword_decode_error(str(error))
        self._collector.say(f"the line is not a readable message: {why}", row.number)

    def _verify_checksum(self, line: bytes, number: int) -> bytes:
        """Check the checksum of a line and return the line. Report a checksum that does not match.

        If the line has only one wrong bit, return the repaired line.
        """
        if line_checksum.is_sound(line):
            return line
        better = line_checksum.mended(line)
        if better is not None and self._is_record(better):
            id = decode_record(better, self._table, []).message.id
            text = f"one bit of message {id!r:.60} is wrong; the checksum shows which"
            self._collector.say(text, number)
            return better
        id = decode_record(line, self._table, []).message.id if self._is_record(line) else "?"
        text = f"message {id!r:.60} was changed or damaged: its checksum does not match"
        self._collector.say(text, number, mends=False)
        return line

    def _fix_checksum(self, line: bytes, number: int) -> bytes:
        """Return the line of a record with a correct checksum, or without a checksum.

        A checksum is valid only for the exact bytes that cortext writes. Another program may have
        written the same record with other bytes.
        """
        if line_checksum.KEY.encode() not in line or not self._is_record(line):
            return line
        value = message_dicts.as_dict(json_codec.decode(line))
        if line_checksum.KEY not in value:
            return line
        own_line = json_codec.encode(value)
        if line_checksum.is_sealed(own_line) and line_checksum.is_sound(own_line):
            return own_line
        better = line_checksum.mended(own_line) if line_checksum.is_sealed(own_line) else None
        if better is not None and self._is_record(better):
            return self._verify_checksum(own_line, number)
        text = "a checksum does not match its message; the checksum is removed"
        self._collector.say(text, number, WARNING)
        return json_codec.encode(remove_checksum(value))

    def _read_tail(self, tail: bytes, number: int) -> bytes:
        """Process the last line of the file, and return it if it is incomplete.

        `tail` is the last line, which has no line break. `number` is its line number. A complete
        line is salvaged like every other line, and the result is b"". A line is complete if it is a
        record, or the end of a record that began on an earlier line. An incomplete line is reported
        as torn.
        """
        if self._is_complete(tail.strip(b"\0")):
            self._add_line(tail, number)
            return b""
        torn = describe_torn_tail(tail, number)
        self._collector.say(torn.text, number, torn.severity)
        return tail

    def _is_complete(self, tail: bytes) -> bool:
        if not tail.strip(_SEPARATORS.encode()) or self._is_record(tail):
            return bool(tail)
        text = "\n".join(
            decode_text(line)[0] for line in (*(r.line for r in self._bad_lines), tail)
        )
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


_FOREIGN_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
"""Role names of other programs, and the roles of cortext that they mean."""
_SIMILARITY = 0.7
"""The minimum similarity of two words that differ only by one wrong or added letter."""


def with_known_role(value: dict[str, Any], key: str = "role") -> dict[str, Any] | None:
    """Return a copy of a message record with a valid role; None if no role must be corrected.

    A misspelt role, or a role name of another program, is replaced by the role that was meant. Any
    other role is replaced by "assistant", so that nobody takes the message for words of the user or
    for an instruction. The old role is kept in the field `name` if the record has no name. `key` is
    the field with the role.
    """
    role = value.get(key)
    if not isinstance(role, str) or not role or role in ROLES:
        return None
    word = role.strip().casefold()
    near = get_close_matches(word, ROLES, 1, _SIMILARITY)
    meant = _FOREIGN_ROLES.get(word) or (near[0] if near else "")
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
        self._unreadable: list[int] = []
        self._troubles: list[Trouble] = []
        self._known: dict[str, bytes] = {}
        self._repeated: list[int] = []

    def take(self, line: bytes, record: Record, number: int) -> None:
        """Add the record of line `number`, unless an identical line was added before."""
        self._answered.update(call.id for call in record.invocations)
        message = record.message
        known = self._known.setdefault(message.id, line)
        if known is not line and known == line:
            self._repeated.append(number)
            return
        if known is not line:
            self.say(f"two messages have the id {message.id!r:.60}", number, NOTE, mends=False)
        self._lines.append(line)
        self.messages.append(message)

    def say(self, text: str, line: int, severity: str = PROBLEM, *, mends: bool = True) -> None:
        self._troubles.append(Trouble(text, line, severity, mends))

    def lose(self, number: int) -> bool:
        """Count line `number` as unreadable, and return whether to report the reason.

        After many unreadable lines the result is False, because finding a reason takes time and
        nobody reads so many reports.
        """
        self.lost += 1
        self._unreadable.append(number)
        return len(self._unreadable) <= MOST_DAMAGES

    def rescued(self, torn: bytes) -> SalvagedLines:
        """Return everything that was collected, with `torn` as the incomplete last line."""
        self._report_rest()
        nothing = bool(self._unreadable) and not self.messages
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

    def _report_rest(self) -> None:
        rest = self._unreadable[MOST_DAMAGES:]
        if rest:
            more = pluralize(len(rest), "more line")
            self.say(f"{more} cannot be read as messages; this is the first", rest[0])
        if self._repeated:
            text = f"{describe_lines(self._repeated)} identical to earlier lines"
            self.say(text, self._repeated[0], WARNING)
