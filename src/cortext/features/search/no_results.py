"""Why a search found nothing, and what may have been meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.spelling_suggestions import unknown
from cortext.catalog.lookup import nearest
from cortext.catalog.row import ConversationRow
from cortext.features.search.partial_matches import content_words, split_phrase, term_text
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.text_search.search_query import Clause, Query, Term, parse

_CLOSE = 85
"""How alike a title is that may have been meant, of 100."""
_SHORTEST = 4
"""Characters that may be a title with mistakes: fewer are a part of any."""
_FREED: dict[str, Callable[[SearchRequest], SearchRequest]] = {
    "--tool": lambda q: q._replace(wanted=q.wanted._replace(tool=None)),
    "--type": lambda q: q._replace(wanted=q.wanted._replace(kind=None)),
    "--status": lambda q: q._replace(wanted=q.wanted._replace(status=None)),
    "--tag": lambda q: q._replace(wanted=q.wanted._replace(tags=())),
    "--owner": lambda q: q._replace(wanted=q.wanted._replace(owner=None)),
    "--in": lambda q: q._replace(narrow=q.narrow._replace(folder="")),
    "--role": lambda q: q._replace(narrow=q.narrow._replace(role="")),
    "--since": lambda q: q._replace(narrow=q.narrow._replace(since=None)),
    "--until": lambda q: q._replace(narrow=q.narrow._replace(until=None)),
    "--conversation": lambda q: q._replace(only=None),
}
"""A question without one of the options that leave less."""


class NoResultsReason(NamedTuple):
    """What there is to say: whether there was a word to look for; the words that were not wanted,
    and that all have which was found; the options without any one of which something is found, and
    whether it is without all of them; those that leave no conversation at all; the words that are
    nowhere, each with the nearest or ""; and titles that are alike."""

    asked: bool = True
    excluded: Sequence[str] = ()
    narrowed: Sequence[str] = ()
    elsewhere: bool = False
    empty: Sequence[str] = ()
    unknown: Sequence[tuple[str, str]] = ()
    titles: Sequence[ConversationRow] = ()


def explain_no_results(finder: Finder, question: SearchRequest) -> NoResultsReason:
    """The first reason that explains it."""
    query = parse(question.text)
    whole = query.whole
    if whole is None:
        return NoResultsReason(asked=False, excluded=_words(query.dropped))
    if question.is_filtered and (found := _narrowed(finder, question)):
        return found
    if whole.unwanted:
        without = question._replace(most=1)
        if finder.answer(without, Query(whole._replace(unwanted=()))).groups:
            unwanted = [p for p in whole.unwanted if isinstance(p, Term)]
            return NoResultsReason(excluded=_words(unwanted) or ["what is not wanted"])
    terms = content_words([term for term in query.terms if not term.is_prefix])
    # Any title is like words that make a sentence.
    text = " ".join(
        map(term_text, content_words([word for term in query.terms for word in split_phrase(term)]))
    )
    return NoResultsReason(unknown=_unknown(finder, terms), titles=_alike(text, finder.rows))


def _unknown(finder: Finder, terms: Sequence[Term]) -> list[tuple[str, str]]:
    """What was typed that has a word which is nowhere; what is written without spaces once. The
    index knows words of all conversations, and of texts that are gone."""
    rows = finder.among(SearchRequest(""))

    def is_said(word: str) -> bool:
        return bool(finder.having(Query(Clause((Term((word,)),))), rows, TextFilter(), most=1))

    words = [word for term in terms for word in split_phrase(term)]
    nearest_to = unknown([token for word in words for token in word.tokens], is_said)
    found: dict[str, str] = {}
    for word in words:
        if any(token in nearest_to for token in word.tokens):
            found[term_text(word)] = nearest_to[word.tokens[0]] if len(word.tokens) == 1 else ""
    return [*found.items()]


def _words(terms: Sequence[Term]) -> list[str]:
    return [*map(term_text, terms)]


def _narrowed(finder: Finder, question: SearchRequest) -> NoResultsReason | None:
    """Which of the options it was; None if there is nothing without them either."""
    question = question._replace(most=1)
    given = [name for name, free in _FREED.items() if free(question) != question]
    empty = [name for name in given if not finder.among(_only(question, name))]
    if empty:
        return NoResultsReason(empty=empty)
    if not finder.answer(SearchRequest(question.text, most=1)).groups:
        return None
    narrowed = [name for name in given if finder.answer(_FREED[name](question)).groups]
    return NoResultsReason(narrowed=narrowed, elsewhere=True)


def _only(question: SearchRequest, name: str) -> SearchRequest:
    """The question with one option alone."""
    for other, free in _FREED.items():
        question = question if other == name else free(question)
    return question


def _alike(text: str, rows: list[ConversationRow]) -> list[ConversationRow]:
    if len(text) < _SHORTEST:
        return []
    from rapidfuzz import fuzz, utils

    def score(row: ConversationRow) -> float:
        return fuzz.WRatio(text, row.title, processor=utils.default_process)

    return [row for row in nearest(text, rows) if score(row) >= _CLOSE]
