"""Finding the item that a user means with "the second one" or "it".

The items come from the structured data of earlier messages, such as a list of search results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from cortext.service.stores.port import Message
from cortext.service.stores.structured_data import name_of

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
          "tenth")  # fmt: skip
_ORDINALS = {word: number for number, word in enumerate(_WORDS, 1)}
_LISTS = ("items", "results", "options", "candidates", "choices")
_FROM_END = re.compile(r"\b(?:(\w+)[ -](?:to|from)[ -](?:the )?last|penultimate)\b")
_ORDINAL = re.compile(
    r"\b(?:(" + "|".join(_WORDS) + r")|(\d{1,3})(?:st|nd|rd|th)"
    r"|(?:number|option|item|result|no\.?) ?(\d{1,3}))\b|#(\d{1,3})\b|^(\d{1,3})[.)!]?$"
)
_COUNTS = {
    word: number
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight"), 2)
}
_ALL = re.compile(r"\b(?:both|all of (?:them|these|those))\b")
_SEVERAL = re.compile(r"\b(first|last|final) ([2-9]|[1-9]\d|" + "|".join(_COUNTS) + r")\b")
_FINAL = re.compile(r"\b(?:last|final|latter)\b")
_FORMER = re.compile(r"\bformer\b")
_PRONOUN = re.compile(r"\b(?:it|its|this|that|them|these|those|one|ones)\b")


class Reference(Struct, frozen=True, rename="camel"):
    """The item that a user's text refers to.

    - `item`: the item, if the text refers to exactly one
    - `candidates`: the possible items, if the text refers to several or is ambiguous
    - `data`: the structured data that contains the item or the candidates
    - `position`: the position of the item in its list, from 1; None if the item is in no list

    If the text refers to no known item, `item` is None and `candidates` is empty.
    """

    item: Any = None
    candidates: list[Any] = []
    data: Any = None
    position: int | None = None


def resolve(text: str, messages: Sequence[Message]) -> Reference:
    """Find the item in the structured data of `messages` that `text` refers to.

    An item's name in the text is tried first, then a position such as "the second one", then a
    pronoun such as "it". Newer data is preferred to older data.
    """
    data = [m.structured_data for m in reversed(messages) if m.structured_data is not None]
    said = " ".join(text.casefold().split())
    ways = (_by_name, _by_places, _by_place, _by_pronoun)
    return next(filter(None, (way(said, data) for way in ways)), Reference())


def items_of(data: Any) -> list[Any]:
    """Return the list of items in structured data, or [] if there is none.

    If `data` is a dict, the list is under a usual key such as `results`, or under the first other
    key whose value is a list of named items.
    """
    if isinstance(data, list):
        return cast("list[Any]", data)
    if not isinstance(data, dict):
        return []
    fields = cast("dict[str, Any]", data)
    lists = [fields[key] for key in (*_LISTS, *fields) if _is_list_of_things(fields.get(key))]
    return cast("list[Any]", lists[0]) if lists else []


def _is_list_of_things(value: Any) -> bool:
    return isinstance(value, list) and any(name_of(item) for item in cast("list[Any]", value))


def _by_name(said: str, data: Sequence[Any]) -> Reference | None:
    for value in data:
        things = items_of(value) or [value]
        named = [(len(name), item) for item in things if (name := _said_name(said, item))]
        if not named:
            continue
        # "react query" also contains "react": the longest name is meant.
        longest = max(length for length, _ in named)
        meant = [item for length, item in named if length == longest]
        if len(meant) > 1:
            return Reference(candidates=meant, data=value)
        position = things.index(meant[0]) + 1 if items_of(value) else None
        return Reference(meant[0], data=value, position=position)
    return None


def _said_name(said: str, item: Any) -> str:
    name = " ".join(name_of(item).casefold().split())
    found = name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)
    return name if found else ""


def _by_places(said: str, data: Sequence[Any]) -> Reference | None:
    """Resolve "both", "the first two" or "the first and the third" in the newest list of items.

    Each item that is meant becomes a candidate. Return None if the text names no such positions.
    """
    value = next((value for value in data if items_of(value)), None)
    items = items_of(value)
    places = _places(said, len(items))
    if places is None or not items:
        return None
    meant = [items[place] for place in places if place < len(items)]
    return Reference(candidates=meant or items, data=value)


def _places(said: str, count: int) -> Sequence[int] | None:
    """Return the positions, from 0, of the items that a text such as "the first two" names.

    `count` is the number of items. Return None unless the text names several items.
    """
    if _ALL.search(said):
        return range(count)
    if found := _SEVERAL.search(said):
        number = _COUNTS.get(found[2]) or int(found[2])
        return range(number) if found[1] == "first" else range(max(count - number, 0), count)
    if _FROM_END.search(said):
        return None
    named = dict.fromkeys(_number(found) for found in _ORDINAL.finditer(said))
    places = [number - 1 for number in named if number]
    if places and _FINAL.search(said):
        places.append(count - 1)
    return places if len(places) > 1 else None


def _number(found: re.Match[str]) -> int:
    word, *numbers = found.groups()
    return _ORDINALS[word] if word else int(next(filter(None, numbers)))


def _by_place(said: str, data: Sequence[Any]) -> Reference | None:
    place = _place(said)
    if place is None:
        return None
    for value in data:
        items = items_of(value)
        if not items:
            continue
        if place > len(items) or -place > len(items):
            return Reference(candidates=items, data=value)
        index = place - 1 if place > 0 else len(items) + place
        return Reference(items[index], data=value, position=index + 1)
    # Without a list, "the last" is the newest data.
    return Reference(data[0], data=data[0]) if place == -1 and data else Reference()


def _place(said: str) -> int | None:
    """Return the position that a text such as "the second one" names, or None if it names none.

    1 is the first item, and -1 is the last.
    """
    if found := _FROM_END.search(said):
        return -_ORDINALS.get(found[1] or "", 2)
    if found := _ORDINAL.search(said):
        return _number(found) or None
    if _FORMER.search(said):
        return 1
    return -1 if _FINAL.search(said) else None


def _by_pronoun(said: str, data: Sequence[Any]) -> Reference | None:
    """Resolve a pronoun such as "it" to the newest structured data.

    If the data lists several items, each of them is a candidate.
    """
    if not data or not _PRONOUN.search(said):
        return None
    items = items_of(data[0])
    if len(items) > 1:
        return Reference(candidates=items, data=data[0])
    if items:
        return Reference(items[0], data=data[0], position=1)
    return Reference(data[0], data=data[0])
