"""Why a search found nothing, and what may have been meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.app.hits import Finder, Question
from cortext.formats.query import parse
from cortext.index.listed import Listed
from cortext.index.resolve import nearest
from cortext.index.vocabulary import unknown

_CLOSE = 85
"""How alike a title is that may have been meant, of 100."""


class Nothing(NamedTuple):
    """What there is to say: whether there was a word at all, whether other options would have
    found something, the words that nobody said, each with the nearest or "", whether all were said
    but not so, and titles that are alike."""

    asked: bool = True
    elsewhere: bool = False
    unknown: Sequence[tuple[str, str]] = ()
    apart: bool = False
    titles: Sequence[Listed] = ()


def why_nothing(finder: Finder, question: Question) -> Nothing:
    """The first reason that explains it."""
    query = parse(question.text)
    if not query:
        return Nothing(asked=False)
    if question.is_filtered and finder.answer(Question(question.text, most=1)).groups:
        return Nothing(elsewhere=True)
    tokens = [token for term in query.terms if not term.is_prefix for token in term.tokens]
    missing = [*unknown(tokens).items()]
    apart = not missing and len(tokens) > 1
    return Nothing(unknown=missing, apart=apart, titles=_alike(question.text, finder.rows))


def _alike(text: str, rows: list[Listed]) -> list[Listed]:
    from rapidfuzz import fuzz, utils

    def score(row: Listed) -> float:
        return fuzz.WRatio(text, row.title, processor=utils.default_process)

    return [row for row in nearest(text, rows) if score(row) >= _CLOSE]
