"""Text that is safe to print.

Stored text cannot move the cursor, change colours or reverse the direction of text.
"""

from __future__ import annotations

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Joiners connect characters of emoji and of several scripts, and are harmless.
_KEPT = frozenset("\n\t\u200c\u200d")


def clean(text: str, *, lines: bool = True) -> str:
    """Return text with each control, format or surrogate character replaced by `\ufffd`.

    The result is on one line unless `lines` is true.
    """
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
