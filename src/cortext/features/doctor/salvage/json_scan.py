"""Find the JSON objects in a text. This module reads and writes no files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.model import json_codec as codec

_OBJECT_START = re.compile(
    r'(?m)^[ \t\[,]*\{|\{\s*"(?:type|role|version|session_id|conversation_id|id)"'
)
"""Matches where an object may begin: at the start of a line, or with a usual first key."""
_NESTED_COST = 10_000
"""The cost of a scan that failed because the value is nested too deeply, in characters.

Costs limit the time for damaged texts; see `_scan_budget`.
"""
_MIN_COST = 64
"""The minimum cost of a failed scan, in characters."""
_WINDOW = 512
_MAX_LITERAL = 16
"""A number greater than the length of every JSON literal, such as `false`.

If a literal is cut off at the end of a text, the error position is at most this far from the end.
"""
_NAME = re.compile(r'"([A-Za-z_]\w*)"\s*:\s*')
_decoder = json.JSONDecoder()


class JsonObject(NamedTuple):
    """A decoded JSON object, and the positions in the text where it starts and ends."""

    value: dict[str, Any]
    start: int
    end: int


def may_be_object(line: bytes) -> bool:
    """Return whether a line starts with "{" and ends with "}", as a fast test before decoding."""
    bare = line.strip()
    return bare[:1] == b"{" and bare[-1:] == b"}"


def find_objects(text: str) -> Iterator[JsonObject]:
    """Yield each complete JSON object in a text. Objects inside a yielded object are left out.

    Objects may be in a list, share a line, or span several lines. The running time grows linearly
    with the text, whatever the text contains.
    """
    at, budget = 0, _scan_budget(text)
    while budget > 0 and (found := _OBJECT_START.search(text, at)):
        start = text.index("{", found.start())
        while start >= 0:
            piece, cost = _object_at(text, start)
            budget -= cost
            at = start + 1
            if piece is None:
                break
            yield piece
            at = piece.end
            start = _find_next(text, at)


def _object_at(text: str, start: int) -> tuple[JsonObject | None, int]:
    """Return the object that starts at a position, and the cost of the scan.

    The object is None if no valid object starts there. The cost is the number of characters that
    were scanned without a result.
    """
    found, cost = _value_at(text, start)
    return (JsonObject(found[0], start, found[1]) if found else None), cost


def _value_at(text: str, start: int) -> tuple[tuple[Any, int] | None, int]:
    """Return the JSON value that starts at a position, its end position, and the cost of the scan.

    The value and its end position are a tuple, or None if no valid value starts there. The cost is
    the number of characters that were scanned without a result.

    The decoder first gets a short part of the text, and a longer part only if the value does not
    end in the short part. This saves time: before the decoder reports an error, it counts all lines
    before the error, which is slow in a long text.
    """
    size, cost = _WINDOW, 0
    while True:
        window = text[start : start + size]
        try:
            value, end = _decoder.raw_decode(window)
        except json.JSONDecodeError as error:
            if not _is_cut_off(error, len(window)):
                return None, cost + error.pos + _MIN_COST
            if len(window) < size:
                return None, cost + len(window)
        except (RecursionError, ValueError):
            # The nesting is too deep, or a number has thousands of digits, which Python refuses.
            return None, cost + _NESTED_COST
        else:
            # A number at the end of the window may continue after it.
            if end < len(window) or len(window) < size:
                return (value, start + end), cost
        cost += len(window)
        size *= 4


def _is_cut_off(error: json.JSONDecodeError, size: int) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos > size - _MAX_LITERAL


def _find_next(text: str, at: int) -> int:
    """Return the position of the next object if only spaces and commas come before it.

    `at` is the position where the search starts. Return -1 if something else comes first.
    """
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at if text[at : at + 1] == "{" else -1


def encode_object_line(text: str, piece: JsonObject) -> bytes:
    """Return a JSON object as one line of JSON.

    `piece` is an object that `find_objects` found in `text`. If the object is already on one line,
    its bytes do not change.
    """
    found = text[piece.start : piece.end]
    if "\n" not in found and "\r" not in found:
        return found.encode("utf-8", "surrogatepass")
    try:
        return codec.encode(codec.decode(found.encode("utf-8")))
    except (ValueError, OverflowError):
        # A JSON string contains no raw newline, so this changes no string.
        return found.replace("\n", " ").replace("\r", " ").encode("utf-8", "surrogatepass")


def find_fields(text: str) -> dict[str, Any]:
    """Return the readable fields of a damaged JSON object, which is in `text`.

    Fields of damaged inner objects are included. If a name occurs twice, the first value counts.
    The running time grows linearly with the text, whatever the text contains.
    """
    found: dict[str, Any] = {}
    at, budget = 0, _scan_budget(text)
    while budget > 0 and (match := _NAME.search(text, at)):
        read, cost = _value_at(text, match.end())
        budget -= cost
        at = match.end()
        if read is not None:
            value, at = read
            found.setdefault(match[1], value)
    return found


def _scan_budget(text: str) -> int:
    """Return the limit for the cost of scanning a text. The scan ends when the limit is reached.

    The cost is the number of characters that were scanned without a result.
    """
    return 5 * len(text) + (1 << 20)


def inner_messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects in the list `messages` of a JSON object; [] if there is no such list.

    Normally only a whole session has this list. A damaged file may contain a whole session in the
    place of a record.
    """
    inner = value.get("messages")
    items = cast("list[Any]", inner) if isinstance(inner, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
