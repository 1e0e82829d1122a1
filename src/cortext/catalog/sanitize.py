"""Make text from session files safe to show in lists: one line, printable, without secrets."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.catalog.database import plain
from cortext.model.safe_text import clean
from cortext.model.secrets.quick_check import could_hold

_CUT = "..."
_OF_KEYS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_HALF = 12
"""The length from which the last word of a shortened text may be part of a secret key."""


def shown(text: str) -> str:
    """Return the text on one line, without control characters and lone surrogates."""
    return plain(clean(text, lines=False))


def folder_named(path: str) -> str:
    """Return a folder path that a session file names, with NUL characters replaced.

    No real path contains NUL.
    """
    return path.replace("\0", "\N{REPLACEMENT CHARACTER}")


def told(text: str) -> str:
    """Return the text as `shown` does, with each secret replaced by a placeholder.

    Every text that goes into a catalog row passes through this function. SQLite keeps deleted text
    in its file for a while, so a secret must never be stored.
    """
    if not could_hold(text):
        return shown(text)
    from cortext.model.secrets.detector import mask_text

    return shown(_without_half(mask_text(text)[0]))


def _without_half(text: str) -> str:
    """Remove the last word of a shortened title if that word may be part of a secret key."""
    if not text.endswith(_CUT):
        return text
    begun = text.removesuffix(_CUT)
    rest = begun.rstrip(_OF_KEYS)
    half = begun[len(rest) :]
    mixed = any(map(str.isdigit, half)) and any(map(str.isalpha, half))
    return rest + _CUT if len(half) >= _HALF and mixed else text


def told_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text as `told` does, without texts that are empty afterwards."""
    return tuple(text for text in map(told, texts) if text)
