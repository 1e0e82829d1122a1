"""Find the JSON objects in a text. This module reads and writes no files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.model import json_codec as codec

_BEGIN = re.compile(r'(?m)^[ \t\[,]*\{|\{\s*"(?:type|role|version|session_id|conversation_id|id)"')
"""Where an object may begin: at the start of a line, or with a key that our objects begin with."""
_DEEP = 10_000
"""How many characters a failed scan counts if the value is nested too deeply."""
_LEAST = 64
"""How many characters a failed scan counts at least."""
_WINDOW = 512
_WORD = 16
"""A length above that of any JSON literal. The error for a cut literal points to its start."""
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
    """Yield each complete JSON object in a text that is not inside another object.

    Objects may be in a list, share a line, or span several lines. The running time grows linearly
    with the text, whatever the text contains.
    """
    at, left = 0, _patience(text)
    while left > 0 and (found := _BEGIN.search(text, at)):
        start = text.index("{", found.start())
        while start >= 0:
            piece, cost = _object_at(text, start)
            left -= cost
            at = start + 1
            if piece is None:
                break
            yield piece
            at = piece.end
            start = _next(text, at)


def _object_at(text: str, start: int) -> tuple[JsonObject | None, int]:
    """Return the object at a position, or None, and how many characters were scanned in vain."""
    found, cost = _value_at(text, start)
    return (JsonObject(found[0], start, found[1]) if found else None), cost


def _value_at(text: str, start: int) -> tuple[tuple[Any, int] | None, int]:
    """Return the value at a position and its end, and how many characters were scanned in vain.

    Decoding works on a window, because a JSONDecodeError counts all lines before its position. The
    window grows only while the value continues beyond it.
    """
    size, cost = _WINDOW, 0
    while True:
        window = text[start : start + size]
        try:
            value, end = _decoder.raw_decode(window)
        except json.JSONDecodeError as error:
            if not _breaks_off(error, len(window)):
                return None, cost + error.pos + _LEAST
            if len(window) < size:
                return None, cost + len(window)
        except (RecursionError, ValueError):
            # Python refuses to read a number of thousands of digits.
            return None, cost + _DEEP
        else:
            # A number at the end of the window may continue after it.
            if end < len(window) or len(window) < size:
                return (value, start + end), cost
        cost += len(window)
        size *= 4


def _breaks_off(error: json.JSONDecodeError, size: int) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos > size - _WORD


def _next(text: str, at: int) -> int:
    """Return the position of an object that follows after spaces and commas only; -1 if none."""
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at if text[at : at + 1] == "{" else -1


def encode_object_line(text: str, piece: JsonObject) -> bytes:
    """Return a found object as one line of JSON.

    `text` is the text that the object was found in. An object that is on one line already is
    returned unchanged.
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
    """Return the readable fields of one damaged JSON object.

    Fields of damaged inner objects are included. If a name occurs twice, the first value counts.
    The running time grows linearly with the text, whatever the text contains.
    """
    found: dict[str, Any] = {}
    at, left = 0, _patience(text)
    while left > 0 and (match := _NAME.search(text, at)):
        read, cost = _value_at(text, match.end())
        left -= cost
        at = match.end()
        if read is not None:
            value, at = read
            found.setdefault(match[1], value)
    return found


def _patience(text: str) -> int:
    """Return how many characters of a text may be scanned in vain before the scan gives up."""
    return 5 * len(text) + (1 << 20)


def inner_messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects in the list `messages` of a JSON object; [] if there is no such list.

    A whole session may be where one record should be, and its messages are in that list.
    """
    inner = value.get("messages")
    items = cast("list[Any]", inner) if isinstance(inner, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
