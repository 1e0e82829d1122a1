"""Characters of JSON that are cut in the middle, or not in UTF-8. Nothing here reads or writes."""

from __future__ import annotations

import re
from typing import Any, cast

from cortext.features.doctor.salvage.text_encoding import text_of
from cortext.formats import line_checksum
from cortext.formats.record_lines import RecordTable, decode_record
from cortext.model import json_codec, record_dicts

HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""What may be half of a character that is written as a pair."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_CUT = "a character is cut in the middle"


def whole_characters(line: bytes) -> bytes | None:
    """A line of JSON without halves of characters, which stand as U+FFFD, and in UTF-8; None if
    nothing of it was otherwise. Its checksum is one of what it is now."""
    data = text_of(line)[0].encode("utf-8")
    if data == line and not HALF.search(line):
        return None
    try:
        value = json_codec.decode(line_checksum.unseal(data))
        better = whole_value(value)
        if better == value and data == line:
            return None
        new = json_codec.encode(without_checksum(better))
    except (ValueError, RecursionError):
        return None
    return line_checksum.seal(new) if line_checksum.is_sealed(line) else new


def whole_record(line: bytes, table: RecordTable) -> bytes | None:
    """As `whole_characters`, of a record: it keeps the id that it is known by, also where that
    follows from its words, because the line has none."""
    whole = whole_characters(line)
    if whole is None:
        return None
    try:
        id = whole_value(decode_record(line, table, []).message.id)
        if decode_record(whole, table, []).message.id == id:
            return whole
        value = record_dicts.as_dict(json_codec.decode(line_checksum.unseal(whole)))
    except ValueError:
        return whole  # it could not be read before, and is known by no id
    new = json_codec.encode({**value, table.names.get("id", "id"): id})
    return line_checksum.seal(new) if line_checksum.is_sealed(whole) else new


def without_checksum(value: Any) -> Any:
    """A record without the checksum of what it was."""
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value).items()
    return {name: item for name, item in fields if name != line_checksum.KEY}


def why_not_whole(line: bytes) -> str:
    """What `whole_characters` put right."""
    return "this is Latin-1, not UTF-8" if text_of(line)[1] == "Latin-1" else _CUT


def whole_value(value: Any) -> Any:
    """A value without halves of characters, however deeply it is nested."""
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
    """A text without them; of a list or an object a copy, whose values are as they were."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return list(cast("list[Any]", value))
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value).items()
        return {_without_halves(key): item for key, item in fields}
    return value
