"""What people see of a text: nothing in it hides, moves a cursor or turns other text around."""

from __future__ import annotations

from datetime import datetime

from cortext.model.safe_text import clean

LONGEST_MARKDOWN = 200_000
"""A text of more characters is no prose, and is shown as it is."""


def visible(text: str) -> str:
    """`text` with no line end but `\\n`, and each hidden character shown as `�`."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """As `visible`, on one line."""
    return clean(text, lines=False)


def utc(when: datetime) -> str:
    """A time as people read it, to the second."""
    return f"{when.isoformat(sep=' ')[:19]} UTC"
