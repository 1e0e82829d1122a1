"""A fast search for the regions of a text that may contain a secret.

Most of a transcript has no secrets, so the slower patterns run only inside these regions. An API
key is a long word with a prefix of its provider, such as `sk-`. Other secrets follow a name such as
`password`, or characters such as `://`. The search uses a copy of the text with one byte for each
character, because a search in bytes is fast.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from cortext.model.secrets.key_formats import KEYS, Rule
from cortext.model.secrets.unescaped_text import Plain

Span = tuple[int, int]

_SHORTEST = 20
"""The length of the shortest run of letters, digits, `-`, `_` and `%` in any key."""
_RUNS = bytes(
    97 if chr(n).isascii() and (chr(n).isalnum() or n in b"_-%") else 32 for n in range(256)
)
_RUN = b"a" * _SHORTEST
_BEFORE, _AFTER = 70, 120
"""The number of bytes before and after a long word that may belong to the same key."""
_REACH = 160, 240
"""The minimum numbers of characters before and after a possible secret that its region includes."""
_WORD = 300
"""The maximum number of characters by which a region starts earlier to include a whole word."""
_KEY, _VALUE, _TOKEN, _BLOCK = 1_300, 2_300, 24_500, 20_000
"""The maximum length of a key, a value after a name, a signed token, and a key of several lines."""
_WORDS = [(word.encode(), rule) for rule in KEYS for word in rule.words]
_BLOCK_WORDS = (b"PRIVATE KEY", b"Private-Lines:")

# Signed tokens and Discord tokens. Many base64 texts begin like them, so a dot must follow. The dot
# is not part of the long word. The letter of an escape such as `\n` may come before the token.
_DOTTED = (
    re.compile(rb"(?:^|[^\w-])[nrt]?(eyJ[\w-]{8,2000}+)(?:\.|$)", re.MULTILINE),
    re.compile(rb"(?:^|[^\w-])[nrt]?([MNO][\w-]{23,27}+)(?:\.|$)", re.MULTILINE),
)
# The long word of some keys follows a prefix such as `SG.`, `:AA` or a URL.
_HASH, _NAME = b"0123456789abcdef-", b"abcdefghijklmnopqrstuvwxyz_-"
_UUID, _DASH = 36, ord("-")
_PREFIX_LENGTHS = {ord("."): 12, ord(":"): 12, ord("="): 16, ord("/"): 64}
# The text between a name and its value. The value must have at least six characters and a digit.
_VALUED = (
    rb"""[\w.$-]{0,64}(?:\\{0,8}["'\]]){0,2}(?:\s{0,2}:\s{0,2}(?:str|string|&str))?\s{0,4}"""
    rb"""[=:](?:>|=)?(?:\s|\\{1,8}[nrt]){0,4}+(?:\\{0,8}["'`])?(?![0-9.]*[,;}\s)\]])"""
    rb"""(?=[^\s"'`]{6})(?=[^\s"'`]{0,128}?[0-9])"""
)
# In `…;Password=…;` any value is a secret.
_PAIRED = rb"""\s?=\s?[^;"'\s]"""
# For text in lower case. Each pattern begins with a literal, so the search is as fast as `find`.
# `key` alone is not the name of a secret. It must follow a word such as `api` or `access`. The
# pattern checks only the last letter of that word.
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
# Escapes that could represent a character of a key and so hide the key.
_HIDING = re.compile(rb"\\u00(?:2[2-7bdef]|3[0-9ad]|4[0-9a-fA-F]|5[0-9aAfF]|6[0-9a-fA-F]|7[0-9aA])")
_LITERALS = (
    (b"earer", _BEARER, _TOKEN),
    (b"\\u00", _HIDING, _KEY),
    (b":\\/\\/", re.compile(rb""), _KEY),
)


def regions(text: str) -> list[Span]:
    """Return the start and end of each region of a text that may contain a secret.

    The regions are in order and do not overlap. The text outside of the regions contains no secret.
    A region starts and ends between words, unless a word is too long.
    """
    data = text.encode("ascii", "replace")
    spans = [
        *_block_regions(data),
        *(_region_around(data, *candidate) for candidate in _candidates(text, data)),
    ]
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _candidates(text: str, data: bytes) -> Iterator[Span]:
    """Yield the start and the maximum length of each possible secret in a text.

    `data` is the text with one byte for each character.
    """
    yield from _keys(text, data)
    yield from ((match.start(), _KEY) for match in _URL.finditer(data))
    for literal, pattern, longest in _LITERALS:
        yield from ((at, longest) for at in _find_all(data, literal) if pattern.match(data, at))
    lower = data.lower()
    yield from ((at, _KEY) for at in _find_all(lower, b"authorization") if _BASIC.match(lower, at))
    for pattern in _NAMED:
        yield from ((match.start(), _VALUE) for match in pattern.finditer(lower))


def _find_all(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + len(word))


def _keys(text: str, data: bytes) -> Iterator[Span]:
    r"""Yield the start and the maximum length of each possible API key in a text.

    `data` is the text with one byte for each character. Escapes around a long word are decoded
    first, because the `n` of a `\n` is not part of a key.
    """
    by_word = _long_words(data)
    if not by_word:
        return
    words = [*by_word]
    starts = [*accumulate((len(word) + 1 for word in words), initial=0)]
    likely = b"\n".join(words)
    tried: set[tuple[int, Rule]] = set()
    for literal, rule in _WORDS:
        for at in _find_all(likely, literal):
            number = bisect_right(starts, at) - 1
            if (number, rule) not in tried:
                tried.add((number, rule))
                yield from _match_rule(text, by_word[words[number]], rule)
    for pattern in _DOTTED:
        for match in pattern.finditer(likely):
            number = bisect_right(starts, match.start(1)) - 1
            at = match.start(1) - starts[number] - len(words[number])
            for _, end in by_word[words[number]]:
                if data.startswith(b".", end + at + len(match[1])):
                    yield end + at, _TOKEN


def _match_rule(text: str, places: list[Span], rule: Rule) -> Iterator[Span]:
    for start, end in places:
        first = max(0, start - _BEFORE)
        plain = Plain(text[first : end + _AFTER])
        for match in rule.pattern.finditer(plain.text):
            yield first + plain.span(*match.span())[0], _KEY


def _long_words(data: bytes) -> dict[bytes, list[Span]]:
    """Return the long words of a text, each with the start and end of all its occurrences.

    Hashes, UUIDs and lower-case identifiers are left out. `data` is the text with one byte for each
    character. If the character before a word is `.`, `:`, `=` or `/`, the returned word also has
    some characters before it, such as `SG.`. The start and end are those of the word without these
    added characters.
    """
    find = data.translate(_RUNS).find
    words: dict[bytes, list[Span]] = {}
    end = 0
    while (start := find(_RUN, end)) >= 0:
        end = find(b" ", start + _SHORTEST)
        if end < 0:
            end = len(data)
        if end - start == _UUID and data[start + 8] == data[start + 13] == _DASH:
            continue
        prefix = _PREFIX_LENGTHS.get(data[start - 1]) if start else None
        word = data[start:end] if prefix is None else data[max(0, start - prefix) : end]
        # Skip hashes and identifiers, which are most of the long words.
        if word.strip(_HASH) and word.strip(_NAME):
            words.setdefault(word, []).append((start, end))
    return words


def _block_regions(data: bytes) -> Iterator[Span]:
    for word in _BLOCK_WORDS:
        for at in _find_all(data, word):
            yield max(0, at - _REACH[0]), min(len(data), at + _BLOCK)


def _region_around(data: bytes, at: int, longest: int) -> Span:
    left, right = max(0, at - _REACH[0]), min(len(data), at + _REACH[1])
    space = _SPACE.search(data, right, at + longest)
    right = space.start() if space else min(len(data), at + longest)
    before = data[max(0, left - _WORD) : left]
    cut_length = len(before) - before.rfind(b" ") - 1
    return left - cut_length, right


_SPACE = re.compile(rb"\s")
