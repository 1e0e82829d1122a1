"""Find the item that a user means with words such as "the second one" or "it".

The items are in the structured data of earlier messages, for example in a list of search results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from cortext.service.stores.port import Message
from cortext.service.stores.structured_data import name_of

_ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
                  "ninth", "tenth")  # fmt: skip
_ORDINALS = {word: number for number, word in enumerate(_ORDINAL_WORDS, 1)}
_LIST_KEYS = ("items", "results", "options", "candidates", "choices")
_FROM_END = re.compile(r"\b(?:(\w+)[ -](?:to|from)[ -](?:the )?last|penultimate)\b")
_ORDINAL = re.compile(
    r"\b(?:(" + "|".join(_ORDINAL_WORDS) + r")|(\d{1,3})(?:st|nd|rd|th)"
    r"|(?:number|option|item|result|no\.?) ?(\d{1,3}))\b|#(\d{1,3})\b|^(\d{1,3})[.)!]?$"
)
_COUNTS = {
    word: number
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight"), 2)
}
_ALL_ITEMS = re.compile(r"\b(?:both|all of (?:them|these|those))\b")
_FIRST_OR_LAST_FEW = re.compile(
    r"\b(first|last|final) ([2-9]|[1-9]\d|" + "|".join(_COUNTS) + r")\b"
)
_LAST_ITEM = re.compile(r"\b(?:last|final|latter)\b")
_FORMER_ITEM = re.compile(r"\bformer\b")
_PRONOUN = re.compile(r"\b(?:it|its|this|that|them|these|those|one|ones)\b")


class Reference(Struct, frozen=True, rename="camel"):
    """The item that a user means.

    - `item`: the item, if the text means exactly one item
    - `candidates`: the possible items, if the text means several items or is ambiguous
    - `data`: the structured data that contains the item or the candidates
    - `position`: the position of the item in its list, from 1; None if the item is in no list

    If the text means no known item, `item` is None and `candidates` is empty.
    """

    item: Any = None
    candidates: list[Any] = []
    data: Any = None
    position: int | None = None


def resolve(text: str, messages: Sequence[Message]) -> Reference:
    """Find the item that a user means with `text`, in the structured data of `messages`.

    The function first looks for the name of an item in `text`, then for a position such as "the
    second one", then for a pronoun such as "it". Newer data is preferred to older data.
    """
    data = [m.structured_data for m in reversed(messages) if m.structured_data is not None]
    normalized = " ".join(text.casefold().split())
    resolvers = (_resolve_name, _resolve_positions, _resolve_position, _resolve_pronoun)
    return next(filter(None, (resolver(normalized, data) for resolver in resolvers)), Reference())


def items_of(data: Any) -> list[Any]:
    """Return the list of items in structured data, or [] if there is no such list.

    If `data` is a list, it is returned. If `data` is a dict, the result is its first value that is
    a list of named items. Usual keys such as `results` are tried first.
    """
    if isinstance(data, list):
        return cast("list[Any]", data)
    if not isinstance(data, dict):
        return []
    fields = cast("dict[str, Any]", data)
    lists = [
        fields[key] for key in (*_LIST_KEYS, *fields) if _is_list_of_named_items(fields.get(key))
    ]
    return cast("list[Any]", lists[0]) if lists else []


def _is_list_of_named_items(value: Any) -> bool:
    return isinstance(value, list) and any(name_of(item) for item in cast("list[Any]", value))


def _resolve_name(text: str, data: Sequence[Any]) -> Reference | None:
    for value in data:
        items = items_of(value) or [value]
        matches = [(len(name), item) for item in items if (name := _name_in_text(text, item))]
        if not matches:
            continue
        # "react query" also contains "react": the longest name is meant.
        longest = max(length for length, _ in matches)
        longest_matches = [item for length, item in matches if length == longest]
        if len(longest_matches) > 1:
            return Reference(candidates=longest_matches, data=value)
        position = items.index(longest_matches[0]) + 1 if items_of(value) else None
        return Reference(longest_matches[0], data=value, position=position)
    return None


def _name_in_text(text: str, item: Any) -> str:
    name = " ".join(name_of(item).casefold().split())
    match = name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return name if match else ""


def _resolve_positions(text: str, data: Sequence[Any]) -> Reference | None:
    """Resolve words for several items, such as "both" or "the first and the third".

    The words refer to the newest list in `data`. The candidates of the result are the items that
    the words mean, or all items if the list does not have these items. Return None if `text` has no
    such words, or if there is no list.
    """
    value = next((value for value in data if items_of(value)), None)
    items = items_of(value)
    positions = _parse_positions(text, len(items))
    if positions is None or not items:
        return None
    chosen = [items[position] for position in positions if position < len(items)]
    return Reference(candidates=chosen or items, data=value)


def _parse_positions(text: str, count: int) -> Sequence[int] | None:
    """Return the positions that words such as "the first two" mean, counted from 0.

    `count` is the number of items in the list. Return None if the text does not mean several items.
    """
    if _ALL_ITEMS.search(text):
        return range(count)
    if match := _FIRST_OR_LAST_FEW.search(text):
        number = _COUNTS.get(match[2]) or int(match[2])
        return range(number) if match[1] == "first" else range(max(count - number, 0), count)
    if _FROM_END.search(text):
        return None
    numbers = dict.fromkeys(_ordinal_number(match) for match in _ORDINAL.finditer(text))
    positions = [number - 1 for number in numbers if number]
    if positions and _LAST_ITEM.search(text):
        positions.append(count - 1)
    return positions if len(positions) > 1 else None


def _ordinal_number(match: re.Match[str]) -> int:
    word, *numbers = match.groups()
    return _ORDINALS[word] if word else int(next(filter(None, numbers)))


def _resolve_position(text: str, data: Sequence[Any]) -> Reference | None:
    number = _parse_position(text)
    if number is None:
        return None
    for value in data:
        items = items_of(value)
        if not items:
            continue
        if number > len(items) or -number > len(items):
            return Reference(candidates=items, data=value)
        index = number - 1 if number > 0 else len(items) + number
        return Reference(items[index], data=value, position=index + 1)
    # Without a list, "the last" is the newest data.
    return Reference(data[0], data=data[0]) if number == -1 and data else Reference()


def _parse_position(text: str) -> int | None:
    """Return the position in a text such as "the second one"; None if the text has no position.

    1 is the first item, and -1 is the last item.
    """
    if match := _FROM_END.search(text):
        return -_ORDINALS.get(match[1] or "", 2)
    if match := _ORDINAL.search(text):
        return _ordinal_number(match) or None
    if _FORMER_ITEM.search(text):
        return 1
    return -1 if _LAST_ITEM.search(text) else None


def _resolve_pronoun(text: str, data: Sequence[Any]) -> Reference | None:
    """Resolve a pronoun such as "it", which means the newest structured data.

    If the data is a list of several items, all items are candidates. Return None if the text has no
    pronoun.
    """
    if not data or not _PRONOUN.search(text):
        return None
    items = items_of(data[0])
    if len(items) > 1:
        return Reference(candidates=items, data=data[0])
    if items:
        return Reference(items[0], data=data[0], position=1)
    return Reference(data[0], data=data[0])
