"""What people see of a text: nothing in it hides, moves a cursor or turns other text around."""

from __future__ import annotations

import unicodedata
from datetime import datetime

LONGEST_MARKDOWN = 200_000
"""A text of more characters is no prose, and is shown as it is."""

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
# Joiners hold emoji and several scripts together, and do nothing else.
_KEPT = frozenset("\n\t\u200c\u200d")


def visible(text: str) -> str:
    """`text` with no line end but `\\n`, and each hidden character shown as `�`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    hidden = {
        ord(character): "\ufffd"
        for character in set(text)
        if character not in _KEPT and unicodedata.category(character) in _HIDDEN
    }
    return text.translate(hidden) if hidden else text


def one_line(text: str) -> str:
    """As `visible`, on one line."""
    return visible(" ".join(text.split()))


def utc(when: datetime) -> str:
    """A time as people read it, to the second."""
    return f"{when.isoformat(sep=' ')[:19]} UTC"
