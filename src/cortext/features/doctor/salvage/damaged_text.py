"""Repair text that is not UTF-8, has incomplete characters, or contains git conflict markers.

This module reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from cortext.formats import line_checksum
from cortext.formats.message_lines import RecordTable, decode_record
from cortext.model import json_codec, message_dicts

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
_FIRST_BYTES = {b"{\0": "utf-16-le", b"[\0": "utf-16-le", b"\0{": "utf-16-be", b"\0[": "utf-16-be"}
_APPENDED = re.compile(rb'\{"(?:type|role)":')
"""Matches the start of a line that cortext appended in UTF-8.

It does not match UTF-16, which has NUL bytes between the letters.
"""
_NON_ASCII = re.compile(rb"[\x80-\xff]+")
_PARTIAL_CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+|[\x80-\xbf]{2,}")
"""Matches several bytes that can only be a part of one UTF-8 character."""
_MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


class ConflictSides(NamedTuple):
    """A text with git conflict markers, split into our side, their side, and both together.

    All three texts keep the line numbers of the file. `lines` are the line numbers of the markers.
    """

    ours: bytes
    theirs: bytes
    both: bytes
    lines: Sequence[int]


def convert_to_utf8(data: bytes) -> tuple[bytes, str]:
    """Convert the contents of a file to UTF-8.

    Return the new contents and the name of the old encoding. The name is "" if the contents did not
    have to change.
    """
    mark = next((mark for mark in _BYTE_ORDER_MARKS if data.startswith(mark)), b"")
    encoding = _BYTE_ORDER_MARKS.get(mark) or _FIRST_BYTES.get(data[:2], "")
    if not encoding or (not mark and not _looks_like_utf16(data)):
        return data, ""
    if encoding == "utf-8":
        # Some programs add another byte order mark with each save.
        while data.startswith(mark):
            data = data[len(mark) :]
        return data, "UTF-8 with a byte order mark"
    found = _APPENDED.search(data)
    end = found.start() if found else len(data)
    wide = data[len(mark) : end]
    text = wide[: len(wide) // 2 * 2].decode(encoding, "replace").lstrip("\ufeff")
    # The lines that were appended in UTF-8 must start on a new line.
    text += "\n" if found and not text.endswith("\n") else ""
    return text.encode("utf-8", "replace") + data[end:], "UTF-16"


def _looks_like_utf16(data: bytes) -> bool:
    """Return whether bytes look like UTF-16.

    In UTF-16, every second byte is often NUL, and the other bytes never are.
    """
    zeros = sorted((data[0:4096:2].count(0), data[1:4096:2].count(0)))
    return zeros[0] == 0 and zeros[1] * 5 > len(data[:4096]) // 2


def decode_text(data: bytes) -> tuple[str, str]:
    """Decode bytes that should be UTF-8. Return the text, and the damage: "cut", "Latin-1" or "".

    "cut" means that some bytes of a character are missing. Each such character becomes U+FFFD.
    "Latin-1" means that some letters are single bytes above 127. These bytes are decoded as
    Latin-1.
    """
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    lines = [_decode_line(line) for line in data.split(b"\n")]
    cut = any(is_cut for _, is_cut in lines)
    return "\n".join(text for text, _ in lines), "cut" if cut else "Latin-1"


def _decode_line(line: bytes) -> tuple[str, bool]:
    try:
        return line.decode("utf-8"), False
    except UnicodeDecodeError:
        pass
    runs = _NON_ASCII.findall(line)
    if any(_PARTIAL_CHARACTER.match(run) or _is_utf8(run) for run in runs):
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
    versions: list[tuple[bytes, bytes, bytes]] = []
    lines: list[int] = []
    side = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        marker = line[:7] if line[:7] in _MARKERS and line[7:8] in (b"", b" ", b"\r") else b""
        if marker and (marker == _MARKERS[0] or side):
            side = {b"<<<<<<<": "ours", b"|||||||": "base", b"=======": "theirs"}.get(marker, "")
            lines.append(number)
            versions.append((b"", b"", b""))
        else:
            ours, theirs = side in ("", "ours"), side in ("", "theirs")
            versions.append((line * ours, line * theirs, line * (side != "base")))
    if side or not lines:
        return None
    ours, theirs, both = (b"\n".join(part) for part in zip(*versions, strict=True))
    return ConflictSides(ours, theirs, both, lines)


HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""Matches a JSON escape that may be one half of a surrogate pair."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CUT_TEXT = "a character is incomplete"


def repair_characters(line: bytes) -> bytes | None:
    """Repair the characters of a JSON line, and return the line in UTF-8.

    Each lone surrogate (half of a character that was cut) becomes U+FFFD. A line that had a
    checksum gets a new checksum. Return None if nothing had to change, or if the line is not JSON.
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

    A record without an id field gets its id from its text. The repair changes this text, so the old
    id is written into the repaired record. Return None if nothing had to change.
    """
    repaired = repair_characters(line)
    if repaired is None:
        return None
    try:
        id = repair_value_characters(decode_record(line, table, []).message.id)
        if decode_record(repaired, table, []).message.id == id:
            return repaired
        value = message_dicts.as_dict(json_codec.decode(line_checksum.unseal(repaired)))
    except ValueError:
        return repaired  # The line could not be read before, so no id is known.
    new = json_codec.encode({**value, table.names.get("id", "id"): id})
    return line_checksum.seal(new) if line_checksum.is_sealed(repaired) else new


def remove_checksum(value: Any) -> Any:
    """Return a record without its checksum field."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value).items()
    return {name: item for name, item in fields if name != line_checksum.KEY}


def describe_bad_text(line: bytes) -> str:
    """Return a clause that describes the damage that `repair_characters` repairs in a line."""
    return "the text is Latin-1, not UTF-8" if decode_text(line)[1] == "Latin-1" else _CUT_TEXT


def repair_value_characters(value: Any) -> Any:
    """Return a copy of a JSON value in which U+FFFD replaces each lone surrogate, at any depth."""
    box: list[Any] = [value]
    todo: list[list[Any] | dict[Any, Any]] = [box]
    while todo:
        holder = todo.pop()
        for key, item in list(enumerate(holder) if isinstance(holder, list) else holder.items()):
            holder[key] = new = _replace_surrogates(item)
            if isinstance(new, list | dict):
                todo.append(cast("list[Any] | dict[Any, Any]", new))
    return box[0]


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates in a text or in the keys of a dict, and return the result.

    A lone surrogate is half of a character that was cut. The values in a dict do not change. A list
    is copied, but its items do not change. Any other value is returned unchanged.
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return list(cast("list[Any]", value))
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value).items()
        return {_replace_surrogates(key): item for key, item in fields}
    return value
