"""Keys, tokens and passwords in text: where they are, and the text without them.

A mask says only what kind of secret it was: a hash of a weak password would help to guess it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from cortext.model.secret_rules import (
    BLOCKS,
    CONTEXTS,
    KEYS,
    is_example,
    long_words,
    names_a_secret,
)

# `\n`, `\"`, `\u003d` and the like; a string in a string doubles the backslash.
_ESCAPE = re.compile(r"\\{1,16}(?:u00([2-7][0-9a-fA-F])|([nrtbf\"'/]))")
_BLOCK_WORDS = [(word, rule) for rule in BLOCKS for word in rule.words]
_KEY_WORDS = [(word, rule) for rule in KEYS for word in rule.words]


class Secret(NamedTuple):
    """Characters `start` to `end` of a text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """Every secret in a text, in order, none touching another.

    Escapes as JSON and code have them are seen through, however deeply nested.
    """
    plain = _Plain(text)
    found = sorted(_found(plain.text), key=lambda secret: (secret.start, -secret.end))
    apart: list[Secret] = []
    for secret in found:
        if apart and secret.start < apart[-1].end:
            kind, start, end = apart[-1]
            apart[-1] = Secret(kind, start, max(end, secret.end))
        else:
            apart.append(secret)
    return [Secret(kind, *plain.span(start, end)) for kind, start, end in apart]


def mask_text(text: str) -> tuple[str, list[str]]:
    """The text with a mask in the place of each secret, and the kinds that were found.

    The same text gives the same result, in which nothing is found any more.
    """
    kinds: list[str] = []
    # A secret may show only when the one beside it is gone.
    while found := find_secrets(text):
        parts: list[str] = []
        last = 0
        for kind, start, end in found:
            parts += [text[last:start], f"[secret removed: {kind}]"]
            last = end
            kinds.append(kind)
        text = "".join([*parts, text[last:]])
    return text, kinds


def mask_value(value: Any) -> tuple[Any, list[str]]:
    """A JSON value with every string and key in it masked, and the kinds that were found.

    A key says what its value is: `{"password": "…"}` is masked as `password = "…"` is.
    """
    kinds: list[str] = []
    holder: list[Any] = [value]
    # No recursion: a value may be nested more deeply than calls can be.
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        inside, place = todo.pop()
        item = inside[place]
        if isinstance(item, str):
            inside[place] = _masked(item, place, kinds)
        elif isinstance(item, dict):
            inside[place] = fresh = _with_masked_keys(cast("dict[str, Any]", item), kinds)
            todo += [(fresh, key) for key in reversed(fresh)]
        elif isinstance(item, list):
            inside[place] = copied = list(cast("list[Any]", item))
            todo += [(copied, index) for index in reversed(range(len(copied)))]
    return holder[0], kinds


def _found(text: str) -> Iterator[Secret]:
    likely = long_words(text)
    rules = [rule for word, rule in _BLOCK_WORDS if word in text] if likely else []
    rules += [rule for word, rule in _KEY_WORDS if word in likely] if likely else []
    for kind, _, pattern in dict.fromkeys(rules):
        group = "secret" if "secret" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if not is_example(match[group]):
                yield Secret(kind, *match.span(group))
    for find in CONTEXTS:
        for kind, start, end in find(text, likely):
            yield Secret(kind, start, end)


def _masked(text: str, key: Any, kinds: list[str]) -> str:
    masked, found = mask_text(text)
    kinds += found
    if found or not isinstance(key, str) or not names_a_secret(key):
        return masked
    named = f'{key}="'
    whole, found = mask_text(f'{named}{text}"')
    if not whole.startswith(named):
        return masked
    kinds += found
    return whole[len(named) : -1]


def _with_masked_keys(table: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    for key, value in table.items():
        masked, found = mask_text(key)
        kinds += found
        name, number = masked, 1
        while found and (name in fresh or name in table):
            number += 1
            name = f"{masked} {number}"
        fresh[name] = value
    return fresh


class _Plain:
    """A text as it reads when its escapes are seen through; `span` leads back to the given one."""

    def __init__(self, given: str) -> None:
        self.text = given
        self._starts: list[int] = []
        self._given: list[tuple[int, int]] = []
        if "\\" in given:
            self._read(given)

    def _read(self, given: str) -> None:
        parts: list[str] = []
        last = length = 0
        for match in _ESCAPE.finditer(given):
            start, end = match.span()
            parts += [given[last:start], _meant(match)]
            length += start - last
            self._starts.append(length)
            self._given.append((start, end))
            length += 1
            last = end
        self.text = "".join([*parts, given[last:]])

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, index: int) -> tuple[int, int]:
        before = bisect_right(self._starts, index) - 1
        if before < 0:
            return index, index + 1
        if self._starts[before] == index:
            return self._given[before]
        shifted = self._given[before][1] + index - self._starts[before] - 1
        return shifted, shifted + 1


def _meant(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return "\n" if escape[2] in "nrtbf" else escape[2]
