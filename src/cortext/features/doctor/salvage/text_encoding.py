"""Repair text that is not UTF-8, has cut characters, or contains git conflict markers.

This module reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from cortext.formats import line_checksum
from cortext.formats.record_lines import RecordTable, decode_record
from cortext.model import json_codec, record_dicts

_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
_BEGINS = {b"{\0": "utf-16-le", b"[\0": "utf-16-le", b"\0{": "utf-16-be", b"\0[": "utf-16-be"}
_APPENDED = re.compile(rb'\{"(?:type|role)":')
"""The start of a line that cortext appended. In UTF-16, NUL bytes are between these letters."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_CUT = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+|[\x80-\xbf]{2,}")
"""Several bytes that can only be a part of one UTF-8 character."""
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


class ConflictSides(NamedTuple):
    """The versions of a text with git conflict markers: our side, their side, and both together.

    All versions keep the line numbers of the file. `lines` are the line numbers of the markers.
    """

    ours: bytes
    theirs: bytes
    both: bytes
    lines: Sequence[int]


def convert_to_utf8(data: bytes) -> tuple[bytes, str]:
    """Return the contents of a file in UTF-8, and the name of the encoding that it had.

    The name is "" if the contents did not have to change.
    """
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark) or _BEGINS.get(data[:2], "")
    if not encoding or (not mark and not _is_wide(data)):
        return data, ""
    if encoding == "utf-8":
        # A program that writes a byte order mark adds another one with each save.
        while data.startswith(mark):
            data = data[len(mark) :]
        return data, "UTF-8 with a byte order mark"
    found = _APPENDED.search(data)
    end = found.start() if found else len(data)
    wide = data[len(mark) : end]
    text = wide[: len(wide) // 2 * 2].decode(encoding, "replace").lstrip("\ufeff")
    # Lines that were appended later start on a line of their own.
    text += "\n" if found and not text.endswith("\n") else ""
    return text.encode("utf-8", "replace") + data[end:], "UTF-16"


def _is_wide(data: bytes) -> bool:
    """Return whether bytes look like UTF-16: every second byte is often NUL, the others never."""
    zeros = sorted((data[0:4096:2].count(0), data[1:4096:2].count(0)))
    return zeros[0] == 0 and zeros[1] * 5 > len(data[:4096]) // 2


def decode_text(data: bytes) -> tuple[str, str]:
    """Return the text of bytes that should be UTF-8, and what is wrong: "cut", "Latin-1" or "".

    "Latin-1" means that letters are single bytes above 127, which UTF-8 never has. "cut" means that
    some bytes of a character are missing; the character becomes U+FFFD.
    """
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


def split_conflict(data: bytes) -> ConflictSides | None:
    """Split a file with git conflict markers into its sides.

    Return None if there are no markers, or if a conflict is not closed.
    """
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
    return ConflictSides(ours, theirs, both, lines)


HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escape that may be one half of a surrogate pair."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CUT_TEXT = "a character is cut in the middle"


def repair_characters(line: bytes) -> bytes | None:
    """Return a line of JSON in UTF-8, with each lone surrogate replaced by U+FFFD.

    A lone surrogate is half of a character that was cut. Return None if nothing had to change or
    the line is not JSON. A line that had a checksum gets a new checksum.
    """
    data = decode_text(line)[0].encode("utf-8")
    if data == line and not HALF.search(line):
        return None
    try:
        value = json_codec.decode(line_checksum.unseal(data))
        better = repair_value_characters(value)
        if better == value and data == line:
            return None
        new = json_codec.encode(remove_checksum(better))
    except (ValueError, RecursionError):
        return None
    return line_checksum.seal(new) if line_checksum.is_sealed(line) else new


def repair_record_characters(line: bytes, table: RecordTable) -> bytes | None:
    """Repair the characters of a record line as `repair_characters` does, but keep its message id.

    The id of a line without an id field is derived from its text, so a repair alone would change
    the id.
    """
    whole = repair_characters(line)
    if whole is None:
        return None
    try:
        id = repair_value_characters(decode_record(line, table, []).message.id)
        if decode_record(whole, table, []).message.id == id:
            return whole
        value = record_dicts.as_dict(json_codec.decode(line_checksum.unseal(whole)))
    except ValueError:
        return whole  # The line could not be read before, so no id is known.
    new = json_codec.encode({**value, table.names.get("id", "id"): id})
    return line_checksum.seal(new) if line_checksum.is_sealed(whole) else new


def remove_checksum(value: Any) -> Any:
    """Return a record without its checksum field."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value).items()
    return {name: item for name, item in fields if name != line_checksum.KEY}


def describe_bad_text(line: bytes) -> str:
    """Return a clause that describes the damage that `repair_characters` repairs in a line."""
    return "this is Latin-1, not UTF-8" if decode_text(line)[1] == "Latin-1" else _CUT_TEXT


def repair_value_characters(value: Any) -> Any:
    """Return a copy of a JSON value in which U+FFFD replaces each lone surrogate, at any depth."""
    box: list[Any] = [value]
    todo: list[list[Any] | dict[Any, Any]] = [box]
    while todo:
        holder = todo.pop()
        for key, item in list(enumerate(holder) if isinstance(holder, list) else holder.items()):
            holder[key] = new = _without_halves(item)
            if isinstance(new, list | dict):
                todo.append(cast("list[Any] | dict[Any, Any]", new))
    return box[0]


def _without_halves(value: Any) -> Any:
    """Return a text without lone surrogates, or a shallow copy of a list or an object."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return list(cast("list[Any]", value))
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value).items()
        return {_without_halves(key): item for key, item in fields}
    return value
