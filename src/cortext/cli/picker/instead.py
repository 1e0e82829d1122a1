"""What the picker says where nothing has what was typed."""

from __future__ import annotations

from cortext.app.hits import Finder, Question
from cortext.cli.picker.background import Asked, having
from cortext.cli.picker.shelf import Shelf
from cortext.model.text import clean

_FEW = 3


def instead(finder: Finder, asked: Asked) -> list[str]:
    """Sentences: how many others have it, where these are not all; else what may be meant."""
    if not asked.shelf.is_everywhere and (count := _elsewhere(finder, asked.text)):
        return [f"nothing here; {count} elsewhere: Tab"]
    return ["nothing has these words", *_meant(finder, asked.text)]


def _elsewhere(finder: Finder, text: str) -> str:
    rows = finder.among(Question(text))
    said = having(finder, text, rows)
    titled = Shelf([*rows.values()], finder.conversations).titled(text)
    count = len({row.identity for row in (*titled, *(one.row for one in said.found))})
    return f"{count:,}{' or more' if said.more else ''}" if count else ""


def _meant(finder: Finder, text: str) -> list[str]:
    from cortext.app.nothing import why_nothing

    why = why_nothing(finder, Question(text))
    words = [near for _, near in why.unknown if near]
    titles = dict.fromkeys(row.title for row in why.titles)
    meant = words or [*titles][:_FEW]
    return [f'did you mean "{clean(text, lines=False)}"?' for text in meant]
