"""Bytes that are not UTF-8, and text that git left in conflict. Nothing here reads or writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
_BEGINS = {b"{\0": "utf-16-le", b"[\0": "utf-16-le", b"\0{": "utf-16-be", b"\0[": "utf-16-be"}
_APPENDED = re.compile(rb'\{"(?:type|role)":')
"""How a line of ours begins: programs that write UTF-16 leave a NUL between its letters."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_CUT = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+|[\x80-\xbf]{2,}")
"""A part of one character of UTF-8."""
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


class Sides(NamedTuple):
    """A text that git could not merge, as each side has it, and with `both`, line for line where
    it was. `lines` are the numbers of the markers."""

    ours: bytes
    theirs: bytes
    both: bytes
    lines: Sequence[int]


def in_utf8(data: bytes) -> tuple[bytes, str]:
    """A file in UTF-8, and what it was written in: "" where that needs no change."""
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark) or _BEGINS.get(data[:2], "")
    if not encoding or (not mark and not _is_wide(data)):
        return data, ""
    if encoding == "utf-8":
        # A program that puts one there puts another before it the next time.
        while data.startswith(mark):
            data = data[len(mark) :]
        return data, "UTF-8 with a byte order mark"
    found = _APPENDED.search(data)
    end = found.start() if found else len(data)
    wide = data[len(mark) : end]
    text = wide[: len(wide) // 2 * 2].decode(encoding, "replace").lstrip("\ufeff")
    # What was appended since stands on a line of its own.
    text += "\n" if found and not text.endswith("\n") else ""
    return text.encode("utf-8", "replace") + data[end:], "UTF-16"


def _is_wide(data: bytes) -> bool:
    """Whether every second byte of a beginning is NUL in many places, and no other one is."""
    zeros = sorted((data[0:4096:2].count(0), data[1:4096:2].count(0)))
    return zeros[0] == 0 and zeros[1] * 5 > len(data[:4096]) // 2


def text_of(data: bytes) -> tuple[str, str]:
    """A text that ought to be UTF-8, and why it is not: "" where it is. Latin-1 is told by lone
    bytes where UTF-8 has several for a letter; of a character that is cut stands U+FFFD."""
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    lines = [_line_of(line) for line in data.split(b"\n")]
    cut = any(is_cut for _, is_cut in lines)
    return "\n".join(text for text, _ in lines), "cut" if cut else "Latin-1"


def _line_of(line: bytes) -> tuple[str, bool]:
    try:
        return line.decode("utf-8"), False
    except UnicodeDecodeError:
        pass
    runs = _HIGH.findall(line)
    if any(_CUT.match(run) or _is_utf8(run) for run in runs):
        return line.decode("utf-8", "replace"), True
    try:
        return line.decode("cp1252"), False
    except UnicodeDecodeError:
        return line.decode("latin-1"), False


def _is_utf8(run: bytes) -> bool:
    try:
        run.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def sides_of(data: bytes) -> Sides | None:
    """The sides of a conflict; None where there is none from its beginning to its end."""
    if _MARKERS[0] not in data or _MARKERS[3] not in data:
        return None
    kept: list[tuple[bytes, bytes, bytes]] = []
    lines: list[int] = []
    side = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        marker = line[:7] if line[:7] in _MARKERS and line[7:8] in (b"", b" ", b"\r") else b""
        if marker and (marker == _MARKERS[0] or side):
            side = {b"<<<<<<<": "ours", b"|||||||": "base", b"=======": "theirs"}.get(marker, "")
            lines.append(number)
            kept.append((b"", b"", b""))
        else:
            ours, theirs = side in ("", "ours"), side in ("", "theirs")
            kept.append((line * ours, line * theirs, line * (side != "base")))
    if side or not lines:
        return None
    ours, theirs, both = (b"\n".join(part) for part in zip(*kept, strict=True))
    return Sides(ours, theirs, both, lines)
