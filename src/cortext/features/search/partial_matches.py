"""Find partial matches for a query that no message matches completely.

Users search with whole sentences. The words that they remember of a conversation may be in several
of its messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_index import Identity, TextMatch
from cortext.catalog.row import ConversationRow
from cortext.features.search.search import Spots, hits
from cortext.features.search.search_results import Finder, Group, SearchPage, SearchRequest
from cortext.formats.text_search.search_query import Clause, Query, Term, parse
from cortext.formats.text_search.text_folding import is_alone

LOOSE, WITHOUT, APART, SOME = "loose", "without", "apart", "some"
_HOW = {
    LOOSE: "no message has these words side by side; these have all of them",
    WITHOUT: "no message has all of these words",
    APART: "no message has all of these words; these conversations have, in different messages",
    SOME: "no message has all of these words; these have some of them",
}
_SENTENCE = """
a about all also am an and any are as at be been but by can could did do does done for from
get gets getting go goes going got had has have he her here him his how i if in into is it its just
know let like made make makes making me might my need needed needs no not of off on one or our out
please put remember said say see she should so some something tell than that the their them then
there these they thing things think this those to up us use used uses using want wanted wants was
way we were what when where which who whom whose why will with would you your
"""
_SMALL = frozenset(_SENTENCE.split())
"""Common words that say little about the topic of a query."""
_ENDING = re.compile(r"(?<=...)(?:ings|ing|ed|es|s|d|e)$")
_ENDINGS = ("", "e", "s", "es", "d", "ed", "ing")
_MOST = 8
"""The maximum number of words to search for, because the number of pairs grows quickly."""
_TOLD = 80
"""The maximum number of characters of a typed word that are repeated to the user."""
_CONVERSATIONS = 6
_LOOKED = 1000


class PartialMatch(NamedTuple):
    """The results of a partial match, and how they differ from the query.

    `how` is LOOSE if the words of a phrase are not side by side, WITHOUT if some words are ignored,
    APART if the words are in different messages, and SOME if only some words match. `without` has
    the words that were ignored.
    """

    answer: SearchPage
    how: str
    without: Sequence[str] = ()


def told(found: PartialMatch) -> str:
    """Describe in words, for the user, how the results differ from the query.

    The text contains words that the user typed. They are not sanitized.
    """
    if found.how == WITHOUT and not found.without:
        return f"{_HOW[WITHOUT]}; with other endings, these have"
    return _HOW[found.how] + (f"; without: {', '.join(found.without)}" if found.without else "")


def find_partial_matches(finder: Finder, question: SearchRequest) -> PartialMatch | None:
    """Return the texts that match most words of a query, the best first.

    Return None if no text does, or if the query has too few words to ignore one of them.
    """
    whole = parse(question.text).whole
    if whole is None or whole.either:
        return None
    terms = [part for part in whole.wanted if isinstance(part, Term)]
    parts = [split_phrase(term) for term in terms]
    words = [*{word.tokens: word for each in parts for word in each}.values()]
    if len(terms) < len(whole.wanted) or len(words) < 2:
        return None
    near = _Near(finder, question._replace(best=True), whole.unwanted)
    if any(len(each) > 1 for each in parts) and (found := near.all_of(words)):
        return PartialMatch(found, LOOSE)
    if not any(map(_tells, words)):
        return None  # each of the words is in nearly every text
    kept = content_words(words)[:_MOST]
    return near.best(kept, [term_text(word) for word in words if word not in kept])


def content_words(words: Sequence[Term]) -> Sequence[Term]:
    """Return the words without common words such as "the"; all words if all are common."""
    return [word for word in words if _tells(word)] or words


def _tells(word: Term) -> bool:
    """Return whether a word says something about the topic, unlike "the" or a single letter."""
    first = word.tokens[0]
    # A single letter or digit comes from code that was split into words.
    return first not in _SMALL and (len(word.tokens) > 1 or len(first) > 1 or not first.isascii())


def term_text(term: Term) -> str:
    """Return a search term as the user typed it, shortened if it is very long."""
    whole = "".join(
        token if not n or is_alone(token) or is_alone(term.tokens[n - 1]) else f" {token}"
        for n, token in enumerate(term.tokens)
    )
    return whole if len(whole) <= _TOLD else f"{whole[:_TOLD]}…"


def split_phrase(term: Term) -> list[Term]:
    """Return each word of a phrase as its own search term.

    A phrase in a script without spaces stays whole.
    """
    if len(term.tokens) == 1 or not all(map(str.isascii, term.tokens)):
        return [term]
    return [Term((token,)) for token in term.tokens]


def _forms(term: Term) -> list[Term]:
    """Return a search term for each ending that an English word may have."""
    (word, *more) = term.tokens
    if more or term.is_prefix or not word.isascii() or not word.isalpha():
        return [term]
    roots = word, _ENDING.sub("", word)
    forms = dict.fromkeys([word, *(f"{root}{end}" for root in roots for end in _ENDINGS)])
    return [Term((form,)) for form in forms]


class _Near:
    """The searches that look for partial matches. Unwanted words are excluded from all of them."""

    def __init__(
        self, finder: Finder, question: SearchRequest, unwanted: tuple[Term | Clause, ...]
    ) -> None:
        self._finder, self._question, self._unwanted = finder, question, unwanted
        self._rows = finder.among(question)

    def all_of(self, parts: Sequence[Term | Clause]) -> SearchPage | None:
        """Return the texts that have all parts in one message; None if no text does."""
        found = self._finder.answer(self._question, Query(Clause(tuple(parts), self._unwanted)))
        return found if found.groups else None

    def best(self, words: Sequence[Term], without: list[str]) -> PartialMatch | None:
        """Return the best partial matches. `without` has the words that are ignored already.

        Texts with all words in one message are best, then conversations with all words, then texts
        with some of the words.
        """
        said = {word: self._said(word) for word in words}
        there = [form for form in said.values() if form]
        without = without + [term_text(word) for word in words if not said[word]]
        if there and (found := self.all_of(there)):
            return PartialMatch(found, WITHOUT, without)
        if len(there) > 1 and (found := self._in_one(there)):
            return PartialMatch(found, APART, without)
        pairs = [Clause(pair) for pair in combinations(there, 2)]
        found = self._one_of(pairs) or self._one_of(there)
        return PartialMatch(found, SOME, without) if found else None

    def _said(self, word: Term) -> Term | Clause | None:
        """Return the forms of a word that occur in any text; None if no form does."""
        found = [form for form in _forms(word) if self._having(form, self._rows, most=1)]
        return Clause((*found,), either=True) if len(found) > 1 else found[0] if found else None

    def _one_of(self, parts: Sequence[Term | Clause]) -> SearchPage | None:
        return self.all_of([Clause(tuple(parts), either=True)]) if parts else None

    def _having(
        self, part: Term | Clause, rows: dict[Identity, ConversationRow], most: int
    ) -> dict[Identity, TextMatch]:
        query = Query(Clause((part,), self._unwanted))
        return self._finder.having(query, rows, self._question.narrow, most=most)

    def _in_one(self, parts: Sequence[Term | Clause]) -> SearchPage | None:
        """Return the conversations that have all parts, with the newest message for each part."""
        rows = self._rows
        by_part: list[dict[Identity, TextMatch]] = []
        for part in parts:
            by_part.append(self._having(part, rows, most=_LOOKED))
            rows = {key: rows[key] for key in by_part[-1]}
        latest = sorted(rows.values(), key=lambda row: row.last_active, reverse=True)
        either = Query(Clause(tuple(parts), either=True))
        groups: list[Group] = []
        for row in latest[:_CONVERSATIONS]:
            spots = {found[row.identity].number: found[row.identity] for found in by_part}
            said = [spots[number] for number in sorted(spots)]
            groups.append(Group(row, list(hits(Spots(said, more=False), rows, either)), more=False))
        return SearchPage(groups, more=len(latest) > len(groups)) if groups else None
