"""Texts as words are compared: in scripts with spaces and without, in any case and accent."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

# Han, kana, bopomofo, hangul, thai, lao, burmese, khmer.
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3041-\u318f\u31a0-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNWRITTEN = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
"""Vowel signs of Hebrew and Arabic, and the stroke that stretches a word: few people type them."""
_SPELLED = "\ufb00-\ufb06\uff01-\uff5e"
"""Several letters in one, as texts from PDF files have them, and wide ones."""
_ODD = f"[\u0300-\u036f{_UNWRITTEN}{_SPELLED}]"
ALIKE = {
    **dict.fromkeys("\u2018\u2019\u201b", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
}
"""Signs that editors and models write in the place of those on a keyboard."""


@cache
def alone() -> re.Pattern[str]:
    """Characters that are words by themselves, as many as follow one another. To make it takes
    longer than to search: who has only ASCII does without."""
    return re.compile(f"[{_SINGLE}]+")


def is_alone(token: str) -> bool:
    """Whether what a token begins with is a word by itself."""
    return not token.isascii() and bool(alone().match(token))


def spaced(text: str) -> str:
    """The text, composed and `bare`, with every character that is a word by itself between spaces.
    The one letter with dots that many write without is without: the index would tell them apart."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text).replace("ё", "е").replace("Ё", "Е")
    return alone().sub(lambda found: f" {' '.join(found[0])} ", bare(composed))


@cache
def odd() -> re.Pattern[str]:
    """A character that words are compared without, or that is spelled otherwise: an accent or a
    vowel sign of its own, several letters in one."""
    return re.compile(_ODD)


@cache
def special() -> re.Pattern[str]:
    """What is `odd`, or `alone`."""
    return re.compile(f"{_ODD}|[{_SINGLE}]+")


@lru_cache(1024)
def spelled(character: str) -> str:
    """What stands for an `odd` character; "" for none."""
    is_mark = unicodedata.category(character) in ("Mn", "Lm")
    return "" if is_mark else unicodedata.normalize("NFKC", character)


def bare(text: str) -> str:
    """A text without any `odd` character."""
    return text if text.isascii() else odd().sub(lambda found: spelled(found[0]), text)


def folded(text: str) -> str:
    """Lower case and without accents, character by character: places stay the same."""
    if not text.isascii():
        # A text has few different characters, however long it is.
        for character in sorted({*text}):
            if character > "\x7f" and (new := _folded(character)) != character:
                text = text.replace(character, new)
    return text.lower()


@lru_cache(8192)
def _folded(character: str) -> str:
    # A syllable of hangul is more than its first sound.
    if is_alone(character):
        return character
    if character in ALIKE:
        return ALIKE[character]
    # Some letters have two small forms, as Greek has at the end of a word: the index knows one.
    small = character.casefold() if character.isalpha() else character
    small = small if len(small) == 1 else character.lower()[0]
    return unicodedata.normalize("NFD", small)[0]
