"""The JSON objects that stand somewhere in a text. Nothing here reads or writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.model import json_codec as codec

_BEGIN = re.compile(r'(?m)^[ \t\[,]*\{|\{\s*"(?:type|role|version|session_id|conversation_id|id)"')
"""Where an object may begin: at the beginning of a line, or with a word that ours begin with."""
_DEEP = 10_000
"""What it costs to find that something is nested too deeply, in characters."""
_LEAST = 64
"""What it costs to find that no object is there."""
_WINDOW = 512
_WORD = 16
"""Longer than a word of JSON, of which an error tells the beginning where a text is cut."""
_NAME = re.compile(r'"([A-Za-z_]\w*)"\s*:\s*')
_decoder = json.JSONDecoder()


class JsonObject(NamedTuple):
    """An object, and from where to where it stands."""

    value: dict[str, Any]
    start: int
    end: int


def may_be_object(line: bytes) -> bool:
    """Whether a line begins and ends as an object does: to decode it in vain takes longer."""
    bare = line.strip()
    return bare[:1] == b"{" and bare[-1:] == b"}"


def find_objects(text: str) -> Iterator[JsonObject]:
    """Each that is whole, from the outside: in lists, one after the other on a line, or over many
    lines. In a time that grows with the text, whatever it is."""
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
    """The object that begins there, and how many characters were looked at in vain."""
    found, cost = _value_at(text, start)
    return (JsonObject(found[0], start, found[1]) if found else None), cost


def _value_at(text: str, start: int) -> tuple[tuple[Any, int] | None, int]:
    """The value that begins there with its end, and how many characters were looked at in vain.
    More is looked at as long as it only breaks off: an error counts the lines before it."""
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
            # Python reads no number of thousands of digits.
            return None, cost + _DEEP
        else:
            # A number may go on behind what was looked at.
            if end < len(window) or len(window) < size:
                return (value, start + end), cost
        cost += len(window)
        size *= 4


def _breaks_off(error: json.JSONDecodeError, size: int) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos > size - _WORD


def _next(text: str, at: int) -> int:
    """Where another object follows at once, or -1."""
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at if text[at : at + 1] == "{" else -1


def encode_object_line(text: str, piece: JsonObject) -> bytes:
    """An object as one line of JSON, as it stands there where it is on one already."""
    found = text[piece.start : piece.end]
    if "\n" not in found and "\r" not in found:
        return found.encode("utf-8", "surrogatepass")
    try:
        return codec.encode(codec.decode(found.encode("utf-8")))
    except (ValueError, OverflowError):
        # No newline stands inside a text of JSON.
        return found.replace("\n", " ").replace("\r", " ").encode("utf-8", "surrogatepass")


def find_fields(text: str) -> dict[str, Any]:
    """The fields of one damaged object that can be read, each with its value. Those of an object
    inside it that is damaged stand among them. In a time that grows with the text, whatever it
    is."""
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
    """How many characters of a text may be looked at in vain."""
    return 5 * len(text) + (1 << 20)


def inner_messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a whole session that stands where its records belong."""
    inner = value.get("messages")
    items = cast("list[Any]", inner) if isinstance(inner, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
