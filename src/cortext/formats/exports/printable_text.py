"""Functions that make text safe to show.

They replace hidden characters, and characters that move the cursor or reverse the direction of
text.
"""

from __future__ import annotations

from datetime import datetime

from cortext.model.safe_text import clean

LONGEST_MARKDOWN = 200_000
"""The longest text that is parsed as markdown, in characters. A longer text is shown as code."""


def visible(text: str) -> str:
    r"""Replace each line end in a text by `\n`, and each hidden character by `�`."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Return text on one line, with `�` for each hidden character."""
    return clean(text, lines=False)


def utc(when: datetime) -> str:
    """Return a UTC time as text such as "2025-01-31 12:00:00 UTC"."""
    return f"{when.isoformat(sep=' ')[:19]} UTC"
