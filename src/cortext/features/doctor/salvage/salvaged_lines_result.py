"""The records salvaged from a file with one record per line, and a fast reader for sound files.

A sound file is not damaged. A torn line is a last line that was not written to its end. The
functions work on bytes; they read and write no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cortext.features.doctor.check_results import WARNING, Trouble, pluralize
from cortext.features.doctor.salvage.damaged_text import HALF
from cortext.formats.message_lines import RecordTable, decode_lines
from cortext.model.message import SessionMessage

_FOREIGN_LINE = re.compile(rb"\n[^{\n]")
"""Matches the start of a line that cortext did not write: all its lines start with "{"."""
_OWN_RECORD = re.compile(rb'\{(?:"type":"turn",)?"role":')
_SAMPLE_BYTES = 4096
"""The number of bytes at the start of a file that are checked first; they show most damage."""


class SalvagedLines(NamedTuple):
    """The records that can be read from a file, and what is wrong with the file.

    `lines` are the records as bytes without newlines, and `messages` are the decoded messages.
    `heads` are the session heads found in the file, with their line numbers. A head is a session
    without its messages. `torn` is the incomplete last line. `troubles` is the damage. `answered`
    has the ids of tool calls whose results are in these lines. `lost` is the number of unreadable
    lines that may have been messages. `nothing` means that the file has content but no readable
    message, so no repair may change it. `in_git` is how many messages came from git.
    """

    lines: Sequence[bytes]
    messages: Sequence[SessionMessage]
    heads: Sequence[tuple[int, bytes]]
    torn: bytes
    troubles: Sequence[Trouble]
    answered: frozenset[str] = frozenset()
    lost: int = 0
    nothing: bool = False
    in_git: int = 0

    @property
    def to_write(self) -> bool:
        """True if a repair must write the whole file again.

        If an incomplete last line is the only damage, the repair only cuts off that line.
        """
        mendable = sum(trouble.mends for trouble in self.troubles)
        return mendable > bool(self.torn)


def read_sound_lines(data: bytes, table: RecordTable, first: int = 1) -> SalvagedLines | None:
    """Return the records of a file that has no damage, or only an incomplete last line.

    Return None if there is any other damage; then use `salvage_lines`. `data` is the contents of
    the file, `table` its record format, and `first` the line number at which `data` starts.
    """
    end = data.rfind(b"\n") + 1
    body, tail = data[:end], data[end:]
    if tail and not _is_torn_record(tail):
        return None
    if HALF.search(body) or b'"crc"' in body or _FOREIGN_LINE.search(body):
        return None
    if decode_lines(body[: body.find(b"\n", _SAMPLE_BYTES) + 1], table).damages:
        return None
    found = decode_lines(body, table)
    lines = [line for line in body.split(b"\n") if line.strip()]
    if found.damages or len(lines) != len(found.messages):
        return None
    troubles = [describe_torn_tail(tail, first + body.count(b"\n"))] if tail else []
    answered = frozenset(call.id for _, call in found.invocations)
    return SalvagedLines(lines, found.messages, (), tail, troubles, answered)


def _is_torn_record(tail: bytes) -> bool:
    """Return whether the last line is the start of one record and contains no complete record."""
    if not tail.startswith(b"{") or b"\0" in tail or tail.rstrip().endswith(b"}"):
        return False
    if b"}" not in tail:
        return True
    is_own = _OWN_RECORD.match(tail) and tail.count(b'"role"') == 1
    return bool(is_own) and b'"messages"' not in tail


def describe_torn_tail(tail: bytes, line: int) -> Trouble:
    """Return a description of the damage "incomplete last line".

    `tail` is the last line, and `line` is its number.
    """
    size = pluralize(len(tail), "byte")
    return Trouble(f"the last line is incomplete ({size})", line, WARNING)


def describe_readable(rescued: SalvagedLines) -> str:
    """Return a clause that says how many messages a repair will keep, for the repair plan."""
    count = pluralize(len(rescued.messages), "message")
    text = f" with the {count} that can be read"
    if any(trouble.is_conflict for trouble in rescued.troubles):
        text = f" with the {count} of both sides of the git conflict"
    if not rescued.messages:
        text = "; no messages were found"
    text += _describe_git(rescued)
    if rescued.lost:
        text += f"; the original with {pluralize(rescued.lost, 'unreadable line')} is set aside"
    return text


def describe_written(rescued: SalvagedLines) -> str:
    """Return a clause that says how many messages a repair kept, for the final report."""
    count = len(rescued.messages)
    text = f"with {pluralize(count, 'message') if count else 'no messages'}{_describe_git(rescued)}"
    if rescued.lost:
        text += f"; {pluralize(rescued.lost, 'line')} could not be read"
    return text


def _describe_git(rescued: SalvagedLines) -> str:
    return f", {rescued.in_git} of them from git" if rescued.in_git else ""


def sort_by_time(rescued: SalvagedLines) -> SalvagedLines:
    """Return the salvaged records sorted by time.

    This is needed after a git conflict: the file then has the records of one side first, and after
    them the records of the other side.
    """
    both = zip(rescued.messages, rescued.lines, strict=True)
    pairs = sorted(both, key=lambda pair: pair[0].timestamp)
    return rescued._replace(lines=[p[1] for p in pairs], messages=[p[0] for p in pairs])


def describe_lines(numbers: Sequence[int]) -> str:
    """Return line numbers as the start of a sentence, such as "lines 3 to 5 are"."""
    if len(numbers) == 1:
        return f"line {numbers[0]} is"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"lines {numbers[0]} to {numbers[-1]} are"
    return f"{len(numbers)} lines are"
