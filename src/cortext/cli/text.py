"""Past text is data: nothing in it may move the cursor, colour the screen or turn it around."""

from __future__ import annotations

import unicodedata
from datetime import datetime

_KEPT = frozenset("\n\t")


def clean(text: str, *, lines: bool = True) -> str:
    """`text` without control, format and half characters; on one line unless `lines`."""
    if not lines:
        text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def local(when: datetime) -> str:
    """A time as the person's clock shows it."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def _shown(character: str) -> str:
    if character in _KEPT:
        return character
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        # Joiners hold emoji and several scripts together, and do nothing else.
        return character if character in "\u200c\u200d" else "\ufffd"
    return character
