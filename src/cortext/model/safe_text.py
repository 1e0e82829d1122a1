"""Past text is data: nothing in it may move the cursor, colour the screen or turn it around."""

from __future__ import annotations

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Joiners hold emoji and several scripts together, and do nothing else.
_KEPT = frozenset("\n\t\u200c\u200d")


def clean(text: str, *, lines: bool = True) -> str:
    """`text` with each control, format and half character shown as `\ufffd`; on one line unless
    `lines`."""
    if not lines:
        text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    import unicodedata

    hidden = {
        ord(character): "\ufffd"
        for character in set(text)
        if character not in _KEPT and unicodedata.category(character) in _HIDDEN
    }
    return text.translate(hidden) if hidden else text
