"""Functions that find keys, tokens and passwords in text, and replace them by a mask.

By default, a mask names only the kind of the secret. It has no hash of the secret, because the hash
of a weak password helps an attacker to guess the password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from cortext.model.secrets.candidate_regions import regions
from cortext.model.secrets.context_rules import CONTEXTS, names_a_secret
from cortext.model.secrets.key_formats import BLOCKS, KEYS, Found
from cortext.model.secrets.unescaped_text import Plain

_EDGE = 40
"""The number of characters at the start of a region in which secrets are ignored.

They are ignored only if the region starts inside a word. A region is a part of a text that may
contain secrets.
"""
_WORDS = [(word, rule) for rule in (*BLOCKS, *KEYS) for word in rule.words]
_FINGERPRINTED = re.compile(r"\[redacted ([a-z0-9-]+) [0-9a-f]{12}\]")
Mask = Callable[[str, str], str | None]
"""A function that gets the kind and the text of a secret, and returns its replacement.

If the function returns None, the secret stays in the text.
"""


def kind_only(kind: str, secret: str) -> str:
    """Return the mask `[secret removed: KIND]`, which has no hash of the secret.

    `secret` is not used.
    """
    return f"[secret removed: {kind}]"


def without_fingerprints(text: str) -> str:
    """Replace each mask that contains a fingerprint by a mask without a fingerprint.

    A mask is the text that replaces a secret. It may contain a fingerprint, which is a hash of the
    secret. `[redacted KIND FINGERPRINT]` becomes `[secret removed: KIND]`.
    """
    return _FINGERPRINTED.sub(lambda match: kind_only(match[1], ""), text)


class Secret(NamedTuple):
    """The kind of a secret, such as "jwt", and its position from `start` to `end` in a text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """Return every secret in a text, in order and without overlap.

    Secrets are also found in text that is escaped for JSON or code, even if it is escaped several
    times.
    """
    return [secret for start, end in regions(text) for secret in _in_region(text, start, end)]


def _in_region(text: str, start: int, end: int) -> Iterator[Secret]:
    plain = Plain(text[start:end])
    cut = start > 0 and not text[start - 1].isspace() and not text[start].isspace()
    for kind, first, last in _merge_overlaps(_match_rules(plain.text)):
        begin, stop = plain.span(first, last)
        if not cut or begin >= _EDGE:
            yield Secret(kind, start + begin, start + stop)


def _merge_overlaps(matches: Iterator[Found]) -> list[Found]:
    merged: list[Found] = []
    for kind, start, end in sorted(matches, key=lambda each: (each[1], -each[2])):
        if merged and start < merged[-1][2]:
            merged[-1] = merged[-1][0], merged[-1][1], max(end, merged[-1][2])
        else:
            merged.append((kind, start, end))
    return merged


def mask_text(text: str, mask: Mask = kind_only) -> tuple[str, list[str]]:
    """Replace each secret in a text. Return the new text and the kinds of the replaced secrets.

    `mask` is a function that returns the replacement for a secret, or None to keep the secret. A
    second call with the new text changes nothing.
    """
    kinds: list[str] = []
    masked_before = -1
    # After one secret is masked, the search may find another secret next to it.
    while masked_before < len(kinds) and (found := find_secrets(text)):
        masked_before = len(kinds)
        parts: list[str] = []
        last = 0
        for kind, start, end in found:
            replacement = mask(kind, text[start:end])
            if replacement is not None:
                parts += [text[last:start], replacement]
                last = end
                kinds.append(kind)
        text = "".join([*parts, text[last:]])
    return text, kinds


def mask_value(value: Any, mask: Mask = kind_only) -> tuple[Any, list[str]]:
    """Replace the secrets in all strings and keys of a JSON value.

    Return a new value and the kinds of the replaced secrets. `mask` is a function that returns the
    replacement for a secret, or None to keep the secret. Keys help to find secrets: the string in
    `{"password": "…"}` is replaced like the value in `password = "…"`.
    """
    kinds: list[str] = []
    holder: list[Any] = [value]
    # Not recursive, because a value may be nested deeper than the call stack allows.
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        container, key = todo.pop()
        item = container[key]
        if isinstance(item, str):
            container[key] = _mask_string(item, key, kinds, mask)
        elif isinstance(item, dict):
            container[key] = masked = _with_masked_keys(cast("dict[str, Any]", item), kinds, mask)
            todo += [(masked, key) for key in reversed(masked)]
        elif isinstance(item, list):
            container[key] = copied = list(cast("list[Any]", item))
            todo += [(copied, index) for index in reversed(range(len(copied)))]
    return holder[0], kinds


def _match_rules(text: str) -> Iterator[Found]:
    for rule in dict.fromkeys(rule for word, rule in _WORDS if word in text):
        yield from rule.find(text)
    for find in CONTEXTS:
        yield from find(text)


def _mask_string(text: str, key: Any, kinds: list[str], mask: Mask) -> str:
    masked, found = mask_text(text, mask)
    kinds += found
    if found or not isinstance(key, str) or not names_a_secret(key):
        return masked
    prefix = f'{key}="'
    whole, found = mask_text(f'{prefix}{text}"', mask)
    if not whole.startswith(prefix):
        return masked
    kinds += found
    return whole[len(prefix) : -1]


def _with_masked_keys(table: dict[str, Any], kinds: list[str], mask: Mask) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for key, value in table.items():
        masked, found = mask_text(key, mask)
        kinds += found
        name, number = masked, 1
        while found and (name in renamed or name in table):
            number += 1
            name = f"{masked} {number}"
        renamed[name] = value
    return renamed
