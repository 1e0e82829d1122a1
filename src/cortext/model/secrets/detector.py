"""Detection of keys, tokens and passwords in text, and functions that replace them by a mask.

By default, a mask names only the kind of the secret. A hash of a weak password would help an
attacker to guess the password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from cortext.model.secrets.candidate_regions import regions
from cortext.model.secrets.context_rules import CONTEXTS, names_a_secret
from cortext.model.secrets.key_formats import BLOCKS, KEYS, Found
from cortext.model.secrets.unescape import Plain

_EDGE = 40
"""In a region that starts inside a word, secrets in this many first characters are ignored."""
_WORDS = [(word, rule) for rule in (*BLOCKS, *KEYS) for word in rule.words]
_PRINTED = re.compile(r"\[redacted ([a-z0-9-]+) [0-9a-f]{12}\]")
Mask = Callable[[str, str], str | None]
"""A function that gets the kind and the text of a secret, and returns its replacement.

If the function returns None, the secret stays in the text.
"""


def kind_only(kind: str, secret: str) -> str:
    """Return the replacement `[secret removed: KIND]` for a secret, without any hash of it."""
    return f"[secret removed: {kind}]"


def without_prints(text: str) -> str:
    """Remove the fingerprints from all masks in a text.

    `[redacted KIND FINGERPRINT]` becomes `[secret removed: KIND]`.
    """
    return _PRINTED.sub(lambda match: kind_only(match[1], ""), text)


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
    for kind, first, last in _apart(_found(plain.text)):
        begin, stop = plain.span(first, last)
        if not cut or begin >= _EDGE:
            yield Secret(kind, start + begin, start + stop)


def _apart(found: Iterator[Found]) -> list[Found]:
    apart: list[Found] = []
    for kind, start, end in sorted(found, key=lambda each: (each[1], -each[2])):
        if apart and start < apart[-1][2]:
            apart[-1] = apart[-1][0], apart[-1][1], max(end, apart[-1][2])
        else:
            apart.append((kind, start, end))
    return apart


def mask_text(text: str, mask: Mask = kind_only) -> tuple[str, list[str]]:
    """Replace each secret in a text by a mask; return the new text and the kinds of secrets found.

    `mask` returns the replacement for a secret. Masking the result again changes nothing.
    """
    kinds: list[str] = []
    done = -1
    # Masking one secret may reveal another beside it.
    while done < len(kinds) and (found := find_secrets(text)):
        done = len(kinds)
        parts: list[str] = []
        last = 0
        for kind, start, end in found:
            instead = mask(kind, text[start:end])
            if instead is not None:
                parts += [text[last:start], instead]
                last = end
                kinds.append(kind)
        text = "".join([*parts, text[last:]])
    return text, kinds


def mask_value(value: Any, mask: Mask = kind_only) -> tuple[Any, list[str]]:
    """Mask the secrets in all strings and keys of a JSON value.

    Return a new value and the kinds of secrets found. The key of a string counts as its name:
    `{"password": "…"}` is masked like `password = "…"`.
    """
    kinds: list[str] = []
    holder: list[Any] = [value]
    # Not recursive, because a value may be nested deeper than the call stack allows.
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        inside, place = todo.pop()
        item = inside[place]
        if isinstance(item, str):
            inside[place] = _masked(item, place, kinds, mask)
        elif isinstance(item, dict):
            inside[place] = fresh = _with_masked_keys(cast("dict[str, Any]", item), kinds, mask)
            todo += [(fresh, key) for key in reversed(fresh)]
        elif isinstance(item, list):
            inside[place] = copied = list(cast("list[Any]", item))
            todo += [(copied, index) for index in reversed(range(len(copied)))]
    return holder[0], kinds


def _found(text: str) -> Iterator[Found]:
    for rule in dict.fromkeys(rule for word, rule in _WORDS if word in text):
        yield from rule.find(text)
    for find in CONTEXTS:
        yield from find(text)


def _masked(text: str, key: Any, kinds: list[str], mask: Mask) -> str:
    masked, found = mask_text(text, mask)
    kinds += found
    if found or not isinstance(key, str) or not names_a_secret(key):
        return masked
    named = f'{key}="'
    whole, found = mask_text(f'{named}{text}"', mask)
    if not whole.startswith(named):
        return masked
    kinds += found
    return whole[len(named) : -1]


def _with_masked_keys(table: dict[str, Any], kinds: list[str], mask: Mask) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    for key, value in table.items():
        masked, found = mask_text(key, mask)
        kinds += found
        name, number = masked, 1
        while found and (name in fresh or name in table):
            number += 1
            name = f"{masked} {number}"
        fresh[name] = value
    return fresh
