"""Text that is safe to show: without hidden characters, cursor codes and direction changes."""

from __future__ import annotations

from datetime import datetime

from cortext.model.safe_text import clean

LONGEST_MARKDOWN = 200_000
"""The longest text to parse as markdown, in characters. A longer text is shown unchanged."""


def visible(text: str) -> str:
    r"""Return text with only `\n` as line end, and with `�` for each hidden character."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Return text as `visible` does, on one line."""
    return clean(text, lines=False)


def utc(when: datetime) -> str:
    """Return a time for people, to the second."""
    return f"{when.isoformat(sep=' ')[:19]} UTC"
