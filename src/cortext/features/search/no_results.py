"""Explain to the user why a search found nothing, and suggest similar words and titles."""

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
"""The similarity of a title to the query, out of 100, from which the title is suggested."""
_SHORTEST = 4
"""The minimum number of characters of a query for which similar titles are suggested."""
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
"""For each option that narrows a search: a function that removes the option from a request."""


class NoResultsReason(NamedTuple):
    """Why a search found nothing, and what to suggest to the user.

    `asked` is False if the query had no word to search for. `excluded` are the unwanted words that
    every match contains. `narrowed` are the options that hide all matches: without one of them,
    there are results. `elsewhere` is True if there are results without all options. `empty` are the
    options that leave no conversation to search. `unknown` are the words that occur nowhere, each
    with a similar word or "". `titles` are conversations with a similar title.
    """

    asked: bool = True
    excluded: Sequence[str] = ()
    narrowed: Sequence[str] = ()
    elsewhere: bool = False
    empty: Sequence[str] = ()
    unknown: Sequence[tuple[str, str]] = ()
    titles: Sequence[ConversationRow] = ()


def explain_no_results(finder: Finder, question: SearchRequest) -> NoResultsReason:
    """Return why the search `question` found nothing.

    Options are checked first, then unwanted words, then misspelled words.
    """
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
    # Common words of a sentence are similar to any title, so they are left out.
    text = " ".join(
        map(term_text, content_words([word for term in query.terms for word in split_phrase(term)]))
    )
    return NoResultsReason(unknown=_unknown(finder, terms), titles=_alike(text, finder.rows))


def _unknown(finder: Finder, terms: Sequence[Term]) -> list[tuple[str, str]]:
    """Return the words of the query that occur nowhere, each with a similar word or "".

    Text without spaces, such as Chinese, counts as one word. The index also has words of deleted
    texts, so each word is searched.
    """
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
    """Return the options of the request that hide all results.

    Return None if the search finds nothing even without any option.
    """
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
    """Return the request with every option removed except `name`."""
    for other, free in _FREED.items():
        question = question if other == name else free(question)
    return question


def _alike(text: str, rows: list[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose title is very similar to a text."""
    if len(text) < _SHORTEST:
        return []
    from rapidfuzz import fuzz, utils

    def score(row: ConversationRow) -> float:
        return fuzz.WRatio(text, row.title, processor=utils.default_process)

    return [row for row in nearest(text, rows) if score(row) >= _CLOSE]
