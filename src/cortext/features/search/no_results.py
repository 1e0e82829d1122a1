"""Explain to the user why a search found nothing, and suggest similar words and titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from cortext.catalog.fulltext.spelling_suggestions import unknown
from cortext.catalog.lookup import nearest
from cortext.catalog.row import ConversationRow
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.text_search.query_words import is_content_word, split_phrase, term_text
from cortext.formats.text_search.search_query import Query, Term, parse

_MIN_SIMILARITY = 85
"""The minimum similarity of a suggested title to the query, from 0 to 100."""
_MIN_CHARACTERS = 4
"""The minimum length of a query, in characters, for which similar titles are suggested."""
_REMOVE_OPTION: dict[str, Callable[[SearchRequest], SearchRequest]] = {
    "--tool": lambda q: replace(q, wanted=replace(q.wanted, tool=None)),
    "--type": lambda q: replace(q, wanted=replace(q.wanted, kind=None)),
    "--status": lambda q: replace(q, wanted=replace(q.wanted, status=None)),
    "--tag": lambda q: replace(q, wanted=replace(q.wanted, tags=())),
    "--owner": lambda q: replace(q, wanted=replace(q.wanted, owner=None)),
    "--branch": lambda q: replace(q, wanted=replace(q.wanted, branch="")),
    "--in": lambda q: replace(q, narrow=replace(q.narrow, folder="")),
    "--role": lambda q: replace(q, narrow=replace(q.narrow, role="")),
    "--since": lambda q: replace(q, narrow=replace(q.narrow, since=None)),
    "--until": lambda q: replace(q, narrow=replace(q.narrow, until=None)),
    "--conversation": lambda q: replace(q, only=None),
}
"""The options that narrow a search, each with a function that removes it from a request."""


class NoResultsReason(msgspec.Struct, frozen=True):
    """The reason why a search found nothing, and suggestions for the user.

    - `asked` is False if the query has no word to search for.
    - `excluded` are the unwanted words of the query that every match contains.
    - `narrowed` are options. If any one of them is removed, the search has results.
    - `elsewhere` is True if the search has results after all options are removed.
    - `empty` are the options that leave no conversation to search.
    - `unknown` are the words that occur in no text, each with a similar word or "".
    - `titles` are conversations with a title similar to the query.
    """

    asked: bool = True
    excluded: Sequence[str] = ()
    narrowed: Sequence[str] = ()
    elsewhere: bool = False
    empty: Sequence[str] = ()
    unknown: Sequence[tuple[str, str]] = ()
    titles: Sequence[ConversationRow] = ()


def explain_no_results(finder: Finder, question: SearchRequest) -> NoResultsReason:
    """Return the reason why the search `question` found nothing.

    Options are checked first, then unwanted words, then misspelled words.
    """
    query = parse(question.text)
    whole = query.whole
    if whole is None:
        return NoResultsReason(asked=False, excluded=_texts_of(query.dropped))
    if question.is_filtered and (found := _find_hiding_options(finder, question)):
        return found
    if whole.unwanted:
        without = replace(question, most=1)
        if finder.answer(without, Query(replace(whole, unwanted=()), has_operators=True)).groups:
            unwanted = [p for p in whole.unwanted if isinstance(p, Term)]
            return NoResultsReason(excluded=_texts_of(unwanted) or ["the excluded group"])
    terms = _without_common([term for term in query.terms if not term.is_prefix])
    # Common words of a sentence are similar to any title, so they are left out.
    text = " ".join(
        map(term_text, _without_common([w for term in query.terms for w in split_phrase(term)]))
    )
    return NoResultsReason(
        unknown=_find_unknown_words(finder, terms), titles=_find_similar_titles(text, finder.rows)
    )


def _find_unknown_words(finder: Finder, terms: Sequence[Term]) -> list[tuple[str, str]]:
    """Return the words of the query that occur nowhere, each with a similar word or "".

    Text without spaces, such as Chinese, counts as one word. Each word is searched, because the
    word list of the index also has words of deleted texts.
    """
    words = [word for term in terms for word in split_phrase(term)]
    nearest_to = unknown([token for word in words for token in word.tokens], finder.contains_word)
    found: dict[str, str] = {}
    for word in words:
        if any(token in nearest_to for token in word.tokens):
            found[term_text(word)] = nearest_to[word.tokens[0]] if len(word.tokens) == 1 else ""
    return [*found.items()]


def _without_common(terms: Sequence[Term]) -> Sequence[Term]:
    """Return the terms without common words such as "the"; all terms if all are common."""
    telling = [term for term in terms if any(map(is_content_word, term.tokens))]
    return telling or terms


def _texts_of(terms: Sequence[Term]) -> list[str]:
    return [*map(term_text, terms)]


def _find_hiding_options(finder: Finder, question: SearchRequest) -> NoResultsReason | None:
    """Return the options of the request that hide all results.

    Return None if the search finds nothing even without any option.
    """
    question = replace(question, most=1)
    given = [name for name, free in _REMOVE_OPTION.items() if free(question) != question]
    empty = [name for name in given if not finder.among(_keep_option(question, name))]
    if empty:
        return NoResultsReason(empty=empty)
    if not finder.answer(SearchRequest(question.text, most=1)).groups:
        return None
    narrowed = [name for name in given if finder.answer(_REMOVE_OPTION[name](question)).groups]
    return NoResultsReason(narrowed=narrowed, elsewhere=True)


def _keep_option(question: SearchRequest, name: str) -> SearchRequest:
    """Return the request with every option removed except `name`."""
    for other, free in _REMOVE_OPTION.items():
        question = question if other == name else free(question)
    return question


def _find_similar_titles(text: str, rows: list[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose title is very similar to a text."""
    if len(text) < _MIN_CHARACTERS:
        return []
    from rapidfuzz import fuzz, utils

    def score(row: ConversationRow) -> float:
        return fuzz.WRatio(text, row.title, processor=utils.default_process)

    return [row for row in nearest(text, rows) if score(row) >= _MIN_SIMILARITY]
