"""Functions that make text safe to print in a terminal.

Unsafe characters move the cursor, change colours or reverse the direction of text.
"""

from __future__ import annotations

import re

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Joiners connect characters of emoji and of several scripts, and are harmless.
_KEPT = frozenset("\n\t\u200c\u200d")


def clean(text: str, *, lines: bool = True) -> str:
    """Return text with each control, format or surrogate character replaced by `\ufffd`.

    If `lines` is false, the result is one line: line breaks and all other white space become single
    spaces.
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


_TERMINAL_CODE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)


def without_terminal_codes(text: str) -> str:
    """Return text without the codes with which programs set colours and move the cursor."""
    return _TERMINAL_CODE.sub("", text) if "\x1b" in text else text
