"""Functions that normalize text, so that words are compared without regard to case and accents."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

# Han, Kana, Bopomofo, Hangul, Thai, Lao, Burmese, Khmer.
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3041-\u318f\u31a0-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNWRITTEN = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
"""Vowel signs of Hebrew and Arabic, and the tatweel. Few people type them, so they are ignored."""
_SPELLED = "\ufb00-\ufb06\uff01-\uff5e"
"""Ligatures, as in texts from PDF files, and full-width characters."""
_ODD = f"[\u0300-\u036f{_UNWRITTEN}{_SPELLED}]"
# The lookbehind comes after the capital: a search for capitals alone is twice as fast.
_CAMEL_CASE = re.compile(r"[A-Z](?<=[a-z0-9].)")
ALIKE = {
    **dict.fromkeys("\u2018\u2019\u201b", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
}
"""Typographic signs, each with the keyboard character that people type instead."""


@cache
def alone() -> re.Pattern[str]:
    """Return a regular expression for a run of one-character words.

    In Chinese, Japanese, Korean, Thai and similar scripts, each character counts as a word.
    Compiling the expression is slow, so callers avoid it for ASCII text.
    """
    return re.compile(f"[{_SINGLE}]+")


def is_one_character_word(token: str) -> bool:
    """Return whether the first character of a token counts as a word on its own, as in Chinese."""
    return not token.isascii() and bool(alone().match(token))


def spaced(text: str) -> str:
    """Prepare text for the full-text index, which splits words at spaces.

    Characters that are words on their own, as in Chinese, get spaces around them. The text is
    normalized to NFC, separate accents are removed, and `ё` becomes `е`, as many people write it.
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text).replace("ё", "е").replace("Ё", "Е")
    return alone().sub(lambda match: f" {' '.join(match[0])} ", bare(composed))


@cache
def odd() -> re.Pattern[str]:
    """Return a regular expression for one odd character.

    An odd character is a separate accent, a vowel sign, a ligature or a full-width character. Such
    characters are removed or replaced before words are compared.
    """
    return re.compile(_ODD)


@cache
def special() -> re.Pattern[str]:
    """Return a regular expression for text that needs a conversion before words are compared.

    The expression matches one odd character (see `odd`), or a run of one-character words, as in
    Chinese.
    """
    return re.compile(f"{_ODD}|[{_SINGLE}]+")


@lru_cache(1024)
def replace_odd_character(character: str) -> str:
    """Return the replacement of an odd character (see `odd`), such as "fi" for a ligature.

    The result is "" for an accent or a vowel sign.
    """
    is_mark = unicodedata.category(character) in ("Mn", "Lm")
    return "" if is_mark else unicodedata.normalize("NFKC", character)


def split_identifiers(text: str) -> str:
    """Put spaces between the words of an identifier: `shadowBranch` becomes `shadow Branch`."""
    return _CAMEL_CASE.sub(r" \g<0>", text)


def bare(text: str) -> str:
    """Remove separate accents and vowel signs, and replace ligatures and full-width characters."""
    return (
        text if text.isascii() else odd().sub(lambda match: replace_odd_character(match[0]), text)
    )


def folded(text: str) -> str:
    """Return text in lower case and without accents.

    The result has the same length, so every character keeps its position.
    """
    if not text.isascii():
        # Even a long text has few different characters.
        for character in sorted({*text}):
            if character > "\x7f" and (new := _folded(character)) != character:
                text = text.replace(character, new)
    return text.lower()


@lru_cache(8192)
def _folded(character: str) -> str:
    # NFD would reduce a Hangul syllable to its first sound.
    if is_one_character_word(character):
        return character
    if character in ALIKE:
        return ALIKE[character]
    # Some letters have two lower-case forms, such as the final sigma. The index knows one form.
    small = character.casefold() if character.isalpha() else character
    small = small if len(small) == 1 else character.lower()[0]
    return unicodedata.normalize("NFD", small)[0]
