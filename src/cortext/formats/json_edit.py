"""Functions that insert and remove values in a user's JSON file, and change no other byte.

Comments and trailing commas (JSONC) are accepted and preserved. Inserted text has the indentation
and the line ends of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

_DEEPEST = 100
# Each pattern is matched at one position and does not backtrack, so no text makes it slow.
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]*+(?://[^\r\n]*+|/\*[^\r\n]*?\*/))*+")
_BLANK = re.compile(r"[ \t\r\n]*+\Z")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_OTHER = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

Path = Sequence[str | int]


class Insertion(NamedTuple):
    """A text to insert into a file before the character at position `at`."""

    at: int
    text: str


class JsonItem(msgspec.Struct, frozen=True):
    """A member of a JSON object, or an element of an array, with its position in the text.

    `key` is the member's name or the element's index. `start` is the position where the item
    begins: at the key of a member, or at the value of an element. `comma` is the position of the
    comma after the item, or -1 if there is no comma.
    """

    key: str | int
    start: int
    value: JsonSpan
    comma: int


class JsonSpan(msgspec.Struct, frozen=True):
    """A JSON value and its position in the text.

    `plain` is the value as a Python object. `items` has the members of an object or the elements of
    an array. It is None for any other value.
    """

    start: int
    end: int
    plain: Any
    items: list[JsonItem] | None = None

    def at(self, key: str | int) -> JsonSpan | None:
        """Return the value of a key of an object, or of an index of an array.

        The result is None if the key or the index does not exist. If an object has the same key
        twice, the last value is returned.
        """
        values = [item.value for item in self.items or () if item.key == key]
        return values[-1] if values else None


@lru_cache(maxsize=1)  # callers parse the same text several times
def parse(text: str) -> JsonSpan:
    """Parse JSON text, and return its value with the positions of all nested values.

    Raises ValueError, with the line number, if the text is not JSON.
    """
    start = _skip(text, 0)
    value = _value(text, start, 0)
    end = _skip(text, value.end)
    if end != len(text):
        raise _error(text, end)
    return value


def append(text: str, path: Sequence[str], element: Any) -> list[Insertion]:
    """Return the insertions that add an element to the end of the array at `path`.

    `path` has the keys that lead to the array. If the array or the objects around it are missing,
    they are created. Raises ValueError if `path` leads to a value that is not an array, or through
    a value that is not an object.
    """
    root = value = parse(text)
    for depth, key in enumerate(path):
        if not isinstance(value.plain, dict):
            raise ValueError(f"{_name_of(path[:depth])} is not an object")
        child = value.at(key)
        if child is None:
            made: Any = [element]
            for name in reversed(path[depth + 1 :]):
                made = {name: made}
            return _insert(text, root, value, key, made)
        value = child
    if not isinstance(value.plain, list):
        raise ValueError(f"{_name_of(path)} is not a list")
    return _insert(text, root, value, None, element)


def put(text: str, path: Sequence[str], made: Any) -> list[Insertion]:
    """Return the insertions that add the value `made` at `path`, which must not exist yet.

    `path` has the keys that lead to the value. Missing objects around the value are created. Raises
    ValueError if `path` already has a value, or leads through a value that is not an object.
    """
    root = value = parse(text)
    for depth, key in enumerate(path):
        if not isinstance(value.plain, dict):
            raise ValueError(f"{_name_of(path[:depth])} is not an object")
        child = value.at(key)
        if child is None:
            for name in reversed(path[depth + 1 :]):
                made = {name: made}
            return _insert(text, root, value, key, made)
        value = child
    raise ValueError(f"it already has {_name_of(path).removeprefix('its ')}")


def insert(text: str, insertions: Sequence[Insertion]) -> str:
    """Apply the insertions to the text, and return the new text.

    Insertions at the same position stay in the given order.
    """
    parts: list[str] = []
    last = 0
    for at, added in sorted(insertions, key=lambda each: each.at):
        parts += (text[last:at], added)
        last = at
    return "".join(parts) + text[last:]


def remove(text: str, path: Path) -> str:
    """Return the text without the value at `path`, a list of keys and indexes.

    If `append` added the value to an existing array and the text has not changed since then, the
    result is the text from before `append`. Raises LookupError if there is no value at `path`.
    """
    container = parse(text)
    for key in path[:-1]:
        container = container.at(key) or JsonSpan(0, 0, None)
    items = container.items or []
    number = max((n for n, item in enumerate(items) if item.key == path[-1]), default=None)
    if number is None:
        raise LookupError(f"there is no {_name_of(path)}")
    item = items[number]
    before = items[number - 1].comma + 1 if number else container.start + 1
    start = _after_comments(text, before, item.start)
    if text[start : start + 1] in ("\r", "\n") and text[item.value.end] not in "\r\n":
        # The newline may end a `//` comment. Without it, the next value would become a comment.
        start += 2 if text.startswith("\r\n", start) else 1
    cuts = [(start, item.value.end)]
    if item.comma >= 0:
        cuts.append((item.comma, item.comma + 1))
    elif number:
        cuts.append((before - 1, before))
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def _insert(
    text: str, root: JsonSpan, container: JsonSpan, key: str | None, element: Any
) -> list[Insertion]:
    items = container.items or []
    newline = "\r\n" if "\r\n" in text else "\n"
    inside = text[container.start + 1 : items[0].start if items else container.end - 1]
    # An object or array on one line stays on one line. An empty file gets several lines.
    is_multiline = (
        "\n" in inside if items else "\n" in text[root.start : root.end] or not root.items
    )
    unit = _indentation(text, root.items[0].start) if root.items else "  "
    if items:
        indent = _indentation(text, items[0].start)
    else:
        indent = _indentation(text, container.start) + (unit or "  ")
    body = (
        _format_element(element, newline, unit or "  ", indent)
        if is_multiline
        else json.dumps(element)
    )
    if key is not None:
        body = f"{json.dumps(key)}: {body}"
    lead = newline + indent if is_multiline else " "
    if not items:
        blank = _BLANK.match(inside) is not None and "\n" not in inside
        close = newline + _indentation(text, container.start) if is_multiline and blank else ""
        return [Insertion(container.start + 1, f"{lead.lstrip(' ')}{body}{close}")]
    last = items[-1]
    if last.comma >= 0:
        at = _line_end(text, last.comma + 1) if is_multiline else last.comma + 1
        return [Insertion(at, f"{lead}{body},")]
    at = _line_end(text, last.value.end) if is_multiline else last.value.end
    return [Insertion(last.value.end, ","), Insertion(at, lead + body)]


def _format_element(element: Any, newline: str, unit: str, indent: str) -> str:
    lines = json.dumps(element, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _indentation(text: str, at: int) -> str:
    """Return the white space at the beginning of the line that contains the position `at`."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str, at: int) -> int:
    """Return the position after the comments that come after `at` on the same line."""
    match = _SAME_LINE.match(text, at)
    return match.end() if match else at


def _after_comments(text: str, start: int, end: int) -> int:
    """Return the end of the last comment between the positions `start` and `end`.

    The result is `start` if there is no comment between them.
    """
    last = start
    for comment in re.finditer(r"//[^\r\n]*|/\*.*?\*/", text[start:end], re.DOTALL):
        last = start + comment.end()
    return last


def _name_of(path: Path) -> str:
    return f"its {'.'.join(map(str, path))}" if path else "it"


def _value(text: str, at: int, depth: int) -> JsonSpan:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        return _container(text, at, depth)
    match = (_STRING if opening == '"' else _OTHER).match(text, at)
    if match is None:
        raise _error(text, at)
    try:
        return JsonSpan(at, match.end(), json.loads(match[0]))
    except ValueError:
        raise _error(text, at) from None


def _container(text: str, start: int, depth: int) -> JsonSpan:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    items: list[JsonItem] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if items and items[-1].comma < 0:
            raise _error(text, at)
        item = _item(text, at, depth, is_object, len(items))
        items.append(item)
        at = _skip(text, item.comma + 1 if item.comma >= 0 else item.value.end)
    plain: Any = [item.value.plain for item in items]
    if is_object:
        plain = {item.key: item.value.plain for item in items}
    return JsonSpan(start, at + 1, plain, items)


def _item(text: str, at: int, depth: int, is_object: bool, number: int) -> JsonItem:
    key: str | int = number
    start = at
    if is_object:
        name = _value(text, at, depth + 1) if text[at : at + 1] == '"' else None
        if name is None:
            raise _error(text, at)
        key = name.plain
        at = _skip(text, name.end)
        if text[at : at + 1] != ":":
            raise _error(text, at)
        at = _skip(text, at + 1)
    value = _value(text, at, depth + 1)
    comma = _skip(text, value.end)
    return JsonItem(key, start, value, comma if text[comma : comma + 1] == "," else -1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _error(text: str, at: int) -> ValueError:
    line = text.count("\n", 0, at) + 1
    return ValueError(f"not JSON at line {line}")
