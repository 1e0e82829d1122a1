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


@cache
def alone() -> re.Pattern[str]:
    """A character that is a word by itself. To make it takes longer than to search: who has only
    ASCII does without."""
    return re.compile(f"([{_SINGLE}])")


def is_alone(token: str) -> bool:
    """Whether what a token begins with is a word by itself."""
    return not token.isascii() and bool(alone().match(token))


def spaced(text: str) -> str:
    """The text, composed, with every character that is a word by itself between spaces. The one
    letter with dots that many write without is without: the index would tell them apart."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text).replace("ё", "е").replace("Ё", "Е")
    return alone().sub(r" \1 ", composed)


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
    return unicodedata.normalize("NFD", character.lower()[0])[0]
