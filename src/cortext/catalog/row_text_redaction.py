"""Make text from session files safe to show in lists: one line, printable, without secrets."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.catalog.rebuildable_database import plain
from cortext.model.safe_text import clean
from cortext.model.secrets.quick_check import could_hold

_ELLIPSIS = "..."
_KEY_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_SHORTEST_KEY_PART = 12
"""The minimum length at which the last word of a shortened text may be part of a secret key."""


def shown(text: str) -> str:
    """Return the text on one line, with control characters and lone surrogates replaced."""
    return plain(clean(text, lines=False))


def replace_nul(path: str) -> str:
    """Replace NUL characters in the path of a folder.

    A damaged session file may contain such a path, although no real path contains NUL.
    """
    return path.replace("\0", "\N{REPLACEMENT CHARACTER}")


def told(text: str) -> str:
    """Return the text on one line, printable, and with a placeholder for each secret in it.

    Titles, summaries and tags pass through this function before they are stored in the catalog.
    SQLite keeps deleted text in its file for a while, so a secret must never be stored.
    """
    if not could_hold(text):
        return shown(text)
    from cortext.model.secrets.detector import mask_text

    return shown(_without_partial_key(mask_text(text)[0]))


def _without_partial_key(text: str) -> str:
    """Remove the last word of a shortened title if that word may be part of a secret key."""
    if not text.endswith(_ELLIPSIS):
        return text
    body = text.removesuffix(_ELLIPSIS)
    rest = body.rstrip(_KEY_CHARACTERS)
    last_word = body[len(rest) :]
    is_mixed = any(map(str.isdigit, last_word)) and any(map(str.isalpha, last_word))
    return rest + _ELLIPSIS if len(last_word) >= _SHORTEST_KEY_PART and is_mixed else text


def redact_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return what `told` returns for each of the texts. Empty texts are left out."""
    return tuple(text for text in map(told, texts) if text)
