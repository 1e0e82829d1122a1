"""Where in a text a secret could be: a fast look, so that patterns are tried only there.

Most of a transcript is far from any secret. Keys are long words that hold the beginning which
their provider gave them; what else is a secret stands after a name or a sign. Bytes are looked
through for these at the speed of memory, in a copy that has one byte for each character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from cortext.model.secrets.key_formats import KEYS, Rule
from cortext.model.secrets.unescape import Plain

Span = tuple[int, int]

_SHORTEST = 20
"""Letters, digits, `-`, `_` and `%` in a row: every key has so many."""
_RUNS = bytes(
    97 if chr(n).isascii() and (chr(n).isalnum() or n in b"_-%") else 32 for n in range(256)
)
_RUN = b"a" * _SHORTEST
_BEFORE, _AFTER = 70, 120
"""Bytes around a long word in which the rest of a key stands."""
_REACH = 160, 240
"""Characters around a spot that are looked at closely, and then to the end of a word."""
_WORD = 300
_KEY, _VALUE, _TOKEN, _BLOCK = 1_300, 2_300, 24_500, 20_000
"""How long at most is a key, a value with a name, a signed token, a key in lines."""
_WORDS = [(word.encode(), rule) for rule in KEYS for word in rule.words]
_BLOCK_WORDS = (b"PRIVATE KEY", b"Private-Lines:")

# Signed tokens, and those of Discord: what begins as many a text in base64 does, and the dot after
# it, which is no part of a long word. A letter of an escape may stand before.
_DOTTED = (
    re.compile(rb"(?:^|[^\w-])[nrt]?(eyJ[\w-]{8,2000}+)(?:\.|$)", re.MULTILINE),
    re.compile(rb"(?:^|[^\w-])[nrt]?([MNO][\w-]{23,27}+)(?:\.|$)", re.MULTILINE),
)
# What stands before the long word of a key, if that is not its beginning: `SG.`, `:AA`, a URL.
_HASH, _NAME = b"0123456789abcdef-", b"abcdefghijklmnopqrstuvwxyz_-"
_UUID, _DASH = 36, ord("-")
_LED = {ord("."): 12, ord(":"): 12, ord("="): 16, ord("/"): 64}
# From a name on: what may stand between it and a value of eight characters with a digit.
_VALUED = (
    rb"""[\w.$-]{0,64}(?:\\{0,8}["'\]]){0,2}(?:\s{0,2}:\s{0,2}(?:str|string|&str))?\s{0,4}"""
    rb"""[=:](?:>|=)?(?:\s|\\{1,8}[nrt]){0,4}+(?:\\{0,8}["'`])?(?![0-9.]*[,;}\s)\]])"""
    rb"""(?=[^\s"'`]{6})(?=[^\s"'`]{0,128}?[0-9])"""
)
# In `…;Password=…;` any value is one.
_PAIRED = rb"""\s?=\s?[^;"'\s]"""
# In small letters. Each begins with its own: so they are looked for as fast as by `find`, without a
# step of Python for each place. `key` alone names nothing: before it `api`, `access` and the like
# end.
_NAMED = [
    re.compile(pattern)
    for pattern in (
        rb"pass(?:w|phrase)(?:(?=%b)|(?<=passw)(?=ord%b))" % (_VALUED, _PAIRED),
        rb"pwd(?:(?=%b)|(?=%b))" % (_VALUED, _PAIRED),
        rb"secret(?=%b)" % _VALUED,
        rb"token(?=%b)" % _VALUED,
        rb"credential(?=%b)" % _VALUED,
        rb"key(?<=[eghinrst_.-]key)(?=%b)" % _VALUED,
    )
]
_URL = re.compile(rb"""://(?=[^\s/:@"'`<>]{0,128}+:[^\s/"'`<>]{1,256}@)""")
_BEARER = re.compile(rb"earer[ \t]{1,4}[A-Za-z0-9._~+/-]{8}")
_BASIC = re.compile(rb"authorization.{0,12}asic ")
# Escapes that could stand for a character of a key, and hide what is looked for.
_HIDING = re.compile(rb"\\u00(?:2[2-7bdef]|3[0-9ad]|4[0-9a-fA-F]|5[0-9aAfF]|6[0-9a-fA-F]|7[0-9aA])")
_LITERALS = (
    (b"earer", _BEARER, _TOKEN),
    (b"\\u00", _HIDING, _KEY),
    (b":\\/\\/", re.compile(rb""), _KEY),
)


def regions(text: str) -> list[Span]:
    """The parts of a text outside of which there is no secret, apart from each other, in order.
    Each begins and ends between words where these are not endless."""
    data = text.encode("ascii", "replace")
    found = [*_at_blocks(data), *(_around(data, *spot) for spot in _spots(text, data))]
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _spots(text: str, data: bytes) -> Iterator[Span]:
    """Where to look, and how long what is there can be."""
    yield from _keys(text, data)
    yield from ((match.start(), _KEY) for match in _URL.finditer(data))
    for literal, pattern, longest in _LITERALS:
        yield from ((at, longest) for at in _all(data, literal) if pattern.match(data, at))
    lower = data.lower()
    yield from ((at, _KEY) for at in _all(lower, b"authorization") if _BASIC.match(lower, at))
    for pattern in _NAMED:
        yield from ((match.start(), _VALUE) for match in pattern.finditer(lower))


def _all(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + len(word))


def _keys(text: str, data: bytes) -> Iterator[Span]:
    """The long words that hold a key. What stands around one is read as it is meant: a `\\n`
    before a key is no letter of it."""
    by_word = _long_words(data)
    if not by_word:
        return
    words = [*by_word]
    starts = [*accumulate((len(word) + 1 for word in words), initial=0)]
    likely = b"\n".join(words)
    tried: set[tuple[int, Rule]] = set()
    for literal, rule in _WORDS:
        for at in _all(likely, literal):
            number = bisect_right(starts, at) - 1
            if (number, rule) not in tried:
                tried.add((number, rule))
                yield from _tried(text, by_word[words[number]], rule)
    for pattern in _DOTTED:
        for match in pattern.finditer(likely):
            number = bisect_right(starts, match.start(1)) - 1
            at = match.start(1) - starts[number] - len(words[number])
            for _, end in by_word[words[number]]:
                if data.startswith(b".", end + at + len(match[1])):
                    yield end + at, _TOKEN


def _tried(text: str, places: list[Span], rule: Rule) -> Iterator[Span]:
    for start, end in places:
        first = max(0, start - _BEFORE)
        plain = Plain(text[first : end + _AFTER])
        for match in rule.pattern.finditer(plain.text):
            yield first + plain.span(*match.span())[0], _KEY


def _long_words(data: bytes) -> dict[bytes, list[Span]]:
    """Where each is, with what leads to it."""
    find = data.translate(_RUNS).find
    found: dict[bytes, list[Span]] = {}
    end = 0
    while (start := find(_RUN, end)) >= 0:
        end = find(b" ", start + _SHORTEST)
        if end < 0:
            end = len(data)
        if end - start == _UUID and data[start + 8] == data[start + 13] == _DASH:
            continue
        led = _LED.get(data[start - 1]) if start else None
        word = data[start:end] if led is None else data[max(0, start - led) : end]
        # Most others are hashes, and names of code.
        if word.strip(_HASH) and word.strip(_NAME):
            found.setdefault(word, []).append((start, end))
    return found


def _at_blocks(data: bytes) -> Iterator[Span]:
    for word in _BLOCK_WORDS:
        for at in _all(data, word):
            yield max(0, at - _REACH[0]), min(len(data), at + _BLOCK)


def _around(data: bytes, at: int, longest: int) -> Span:
    left, right = max(0, at - _REACH[0]), min(len(data), at + _REACH[1])
    space = _SPACE.search(data, right, at + longest)
    right = space.start() if space else min(len(data), at + longest)
    before = data[max(0, left - _WORD) : left]
    begun = len(before) - before.rfind(b" ") - 1
    return left - begun, right


_SPACE = re.compile(rb"\s")
