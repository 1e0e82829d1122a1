"""Past text is data: nothing in it may move the cursor, colour the screen or turn it around."""

from __future__ import annotations

_KEPT = frozenset("\n\t")


def clean(text: str, *, lines: bool = True) -> str:
    """`text` without control, format and half characters; on one line unless `lines`."""
    if not lines:
        text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    import unicodedata

    return "".join(_shown(character, unicodedata.category(character)) for character in text)


def _shown(character: str, kind: str) -> str:
    if character in _KEPT:
        return character
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        # Joiners hold emoji and several scripts together, and do nothing else.
        return character if character in "\u200c\u200d" else "\ufffd"
    return character
