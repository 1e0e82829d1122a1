"""What the picker says, and shows, where nothing has what was typed."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.cli.picker.items import Found, Shelf
from cortext.cli.picker.preview_content import as_typed
from cortext.cli.picker.workers import Asked, Said, having
from cortext.features.search.results import Answer, Finder, Question
from cortext.model.safe_text import clean

_FEW = 3


def instead(finder: Finder, asked: Asked) -> Said:
    """How many others have it, where these are not all; else what comes near, and what may be
    meant."""
    if not asked.shelf.is_everywhere and (count := _elsewhere(finder, asked.text)):
        return Said(instead=[f"nothing here; {count} elsewhere: Tab"])
    known = {row.identity for row in asked.shelf.rows}
    here = finder.only(lambda row: row.identity in known)
    words, titles = _meant(finder, asked.text)
    if near := _near(here, asked.text):
        return near._replace(instead=[*near.instead, *words])
    return Said(instead=["nothing has these words", *(words or titles)])


def _near(finder: Finder, text: str) -> Said | None:
    """The conversations that come near, the best first, with what they are without."""
    from cortext.features.search.partial_matches import nearly

    found = nearly(finder, Question(as_typed(text)))
    if found is None:
        return None
    without = clean(", ".join(found.without), lines=False)
    said = ["none has it all; these come near", *([f"without: {without}"] * bool(without))]
    return Said(_first(found.answer), more=found.answer.more, instead=said, near=True)


def _first(answer: Answer) -> Sequence[Found]:
    """Of each conversation, the best message."""
    return [Found(group.row, group.hits[0].number) for group in answer.groups if group.hits]


def _elsewhere(finder: Finder, text: str) -> str:
    rows = finder.among(Question(text))
    said = having(finder, text, rows)
    titled = Shelf([*rows.values()], finder.conversations).titled(text)
    count = len({row.identity for row in (*titled, *(one.row for one in said.found))})
    return f"{count:,}{' or more' if said.more else ''}" if count else ""


def _meant(finder: Finder, text: str) -> tuple[list[str], list[str]]:
    """Questions: words that may be meant, and titles."""
    from cortext.features.search.no_results import why_nothing

    why = why_nothing(finder, Question(text))
    words = dict.fromkeys(near for _, near in why.unknown if near)
    titles = dict.fromkeys(row.title for row in why.titles)

    def asked(texts: Sequence[str]) -> list[str]:
        return [f'did you mean "{clean(text, lines=False)}"?' for text in texts]

    return asked([*words]), asked([*titles][:_FEW])
