"""Clean text from foreign files for rows of lists."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.catalog.database import plain
from cortext.model.safe_text import clean
from cortext.model.secrets.quick_check import could_hold

_CUT = "..."
_OF_KEYS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_HALF = 12
"""Characters of a key that would tell something of it."""


def shown(text: str) -> str:
    """Return a text on one line, without control characters and lone surrogates."""
    return plain(clean(text, lines=False))


def folder_named(path: str) -> str:
    """Return the path of a folder without NUL characters, which no path can have."""
    return path.replace("\0", "\N{REPLACEMENT CHARACTER}")


def told(text: str) -> str:
    """Return a text as `shown` does, with secrets masked.

    A database keeps deleted text on its pages and in its log, so a row must never hold a secret.
    """
    if not could_hold(text):
        return shown(text)
    from cortext.model.secrets.detector import mask_text

    return shown(_without_half(mask_text(text)[0]))


def _without_half(text: str) -> str:
    """Drop the last word of a title that was cut, if the word may be half of a key."""
    if not text.endswith(_CUT):
        return text
    begun = text.removesuffix(_CUT)
    rest = begun.rstrip(_OF_KEYS)
    half = begun[len(rest) :]
    mixed = any(map(str.isdigit, half)) and any(map(str.isalpha, half))
    return rest + _CUT if len(half) >= _HALF and mixed else text


def told_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts as `told` does, without the empty ones."""
    return tuple(text for text in map(told, texts) if text)
