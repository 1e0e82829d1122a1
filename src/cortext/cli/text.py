"""Text as a person sees it in a terminal."""

from __future__ import annotations

from datetime import datetime

from cortext.model.text import clean as clean


def local(when: datetime) -> str:
    """A time as the person's clock shows it."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"
