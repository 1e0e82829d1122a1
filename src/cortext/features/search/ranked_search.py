"""Search for the most relevant conversations.

The commands `search`, `resume` and `show`, the picker, the web page and the MCP tools all use this
ranking.

The full-text index gives each conversation a score for the words of the query
(`catalog/fulltext/ranked_matches.py`). Recent conversations, and conversations of the current
folder, get a slightly higher score. A misspelled word is replaced by the word that the user
probably meant. If the index does not have the whole query, the transcripts are searched for it
(`literal_search.py`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from cortext.catalog.fulltext.fulltext_index import (
    MARKDOWN,
    TITLE,
    FulltextIndex,
    Identity,
    TextMatch,
)
from cortext.catalog.fulltext.ranked_matches import RankedConversation, RankingScope
from cortext.catalog.fulltext.spelling_suggestions import unknown
from cortext.catalog.row import ConversationRow
from cortext.features.listing.row_filters import below_folder
from cortext.features.search.literal_search import IndexedTexts, find_literal
from cortext.features.search.search import SearchHit, TextFilter, Texts, safe_snippet
from cortext.features.search.transcript_scan_result import ScanLimits, TranscriptScan
from cortext.formats.text_search.query_words import content_words, term_text
from cortext.formats.text_search.search_query import Clause, Query, Snippet, Term, find
from cortext.formats.text_search.text_folding import folded

_FEW_CONVERSATIONS = 500
"""If at most this many conversations are searched, all their texts are considered."""
_LEAST_COVERAGE = 0.5
"""The minimum coverage of a conversation, as a part of the highest coverage.

The coverage is how much of the query a conversation matches. Rare words count more.
"""
_RECENT_BONUS, _RECENT_DAYS = 0.1, 30
"""The bonus for recent conversations: its size, and the number of days that halve the bonus.

The score of a conversation of today is raised by the size, as a part of the score.
"""
_FOLDER_BONUS = 0.1
"""The part by which the score of a conversation of the current folder is raised."""
_SIGN_BONUS = 0.5
"""The part by which the score is raised if a text has the signs of the query, such as `#255`."""
_SIGN_SECONDS = 1.0
"""The seconds after which the search for the signs of a query stops."""
_MOST_OTHERS = 4
"""The maximum number of other conversations if a search of the transcripts found the whole query.

More would take too long, because making their snippets takes longer than the search.
"""
_ENDING = re.compile(r"(?<=...)(?:ings|ing|ies|ed|es|s|d|e|y)$")


class RankedResults(msgspec.Struct, frozen=True):
    """The conversations that a query finds, the most relevant first.

    - `words` are the words that were searched.
    - `missing` is empty if a conversation has all words. Otherwise it has the words that the first
      conversation lacks.
    - `corrections` maps each misspelled word to the word that was searched instead.
    - `complete` has the conversations that contain all words as the user typed them.
    - `inexact` has the conversations that match only if signs in the query, such as the `#` in
      `#255`, are ignored.
    - `scanned` has the results of the search in the transcripts.
    """

    conversations: Sequence[RankedConversation] = ()
    words: Sequence[str] = ()
    missing: Sequence[str] = ()
    corrections: Mapping[str, str] = {}
    complete: frozenset[Identity] = frozenset()
    inexact: frozenset[Identity] = frozenset()
    scanned: TranscriptScan = TranscriptScan()


def find_ranked(
    index: FulltextIndex,
    query: Query,
    rows: Mapping[Identity, ConversationRow],
    narrow: TextFilter,
    limits: ScanLimits | None = None,
) -> RankedResults:
    """Rank the conversations in `rows` that match a query.

    `narrow` filters the texts that are searched. `limits` sets how long the search of the
    transcripts may take; None means the default time.
    """
    phrases = [
        " ".join(term.tokens) + ("*" if term.is_prefix else "")
        for term in query.terms
        if term.is_quoted
    ]
    only_phrases = len(phrases) == len(query.terms) and not query.has_operators
    words = [*dict.fromkeys(phrases)] if only_phrases else content_words(query)
    takes = _text_test(narrow)
    scope = RankingScope(
        rows.__contains__,
        takes,
        query.required,
        only_phrases or query.has_operators,
        is_narrow=len(rows) <= _FEW_CONVERSATIONS or narrow != TextFilter(),
    )
    ranked = index.rank(words, scope)
    texts = IndexedTexts(index, lambda m: m.identity in rows and (takes is None or takes(m)))
    scanned = find_literal(texts, query, words, ranked, rows, narrow, limits or ScanLimits())
    if not ranked and query.required and not query.has_operators:
        found = _loosen(index, query, rows, narrow)
        return _add_scanned(replace(found, scanned=scanned))
    corrections = {} if scanned.is_whole else _correct(index, words, ranked, scope)
    if corrections:
        words = [corrections.get(word, word) for word in words]
        ranked = index.rank(words, scope)
    most = max((each.coverage for each in ranked), default=0.0)
    ranked = [each for each in ranked if each.coverage >= _LEAST_COVERAGE * most]
    _add_bonuses(ranked, rows)
    ranked.sort(key=lambda each: each.score, reverse=True)
    inexact = (
        frozenset[Identity]()
        if scanned.is_whole
        else _prefer_signs(query, ranked, rows, Texts(index))
    )
    ranked.sort(key=lambda each: each.score, reverse=True)
    complete = frozenset(
        each.identity for each in ranked if query.has_operators or len(each.words) == len(words)
    )
    missing = (
        []
        if complete or not ranked
        # A word of a script without spaces has spaces between its characters.
        else [word.replace(" ", "") for n, word in enumerate(words) if n not in ranked[0].words]
    )
    if corrections:
        complete = frozenset[Identity]()
    return _add_scanned(
        RankedResults(ranked, words, missing, corrections, complete, inexact, scanned)
    )


def _add_scanned(found: RankedResults) -> RankedResults:
    """Return a copy of the results, with the conversations that a scan of the transcripts found.

    These conversations are called scanned. There are three cases:

    - If the scan found the whole query, the scanned conversations come first, and only a few other
      conversations follow.
    - If the scan found only parts of the query, the scanned conversations come first if no other
      conversation has more than half of the words. Otherwise they come last.
    - If words of the query were corrected and the scan found only parts of the query, the scanned
      conversations are left out.
    """
    scanned = found.scanned
    if not scanned.hits or (found.corrections and not scanned.is_whole):
        return replace(found, scanned=replace(scanned, hits={}))
    every = frozenset(range(len(found.words)))
    by_identity = {each.identity: each for each in found.conversations}
    added: list[RankedConversation] = []
    for identity, hits in scanned.hits.items():
        old = by_identity.pop(identity, None)
        texts = [TextMatch(0, identity, hit.number, hit.role, hit.time, 0, 0) for hit in hits]
        words = every if scanned.is_whole or not old else old.words
        added.append(
            RankedConversation(identity, 0.0, words, 0.0, texts + (old.texts if old else []))
        )
    rest = [*by_identity.values()]
    if scanned.is_whole:
        rest.sort(key=lambda each: len(each.words) < len(every))
        return replace(
            found,
            conversations=added + rest[:_MOST_OTHERS],
            missing=(),
            complete=found.complete | scanned.hits.keys(),
        )
    is_first = 2 * len(found.missing) >= len(found.words) or not rest
    return replace(found, conversations=added + rest if is_first else rest + added)


def _loosen(
    index: FulltextIndex,
    query: Query,
    rows: Mapping[Identity, ConversationRow],
    narrow: TextFilter,
) -> RankedResults:
    """Rank the conversations for a query with quoted phrases that no conversation contains.

    The single words of the phrases are searched instead.
    """
    terms = tuple(replace(term, is_quoted=False) for term in query.terms)
    found = find_ranked(index, Query(Clause(terms)), rows, narrow)
    phrases = [f'"{term_text(term)}"' for term in query.terms if term.is_quoted]
    return replace(found, missing=phrases, complete=frozenset())


def ranked_hits(
    found: RankedConversation,
    row: ConversationRow,
    results: RankedResults,
    query: Query,
    most: int,
    texts: Texts,
) -> list[SearchHit]:
    """Return at most `most` texts of a conversation with snippets, the best text first.

    The title is left out if another text matches.
    """
    if found.identity in results.scanned.hits:
        return results.scanned.hits[found.identity][:most]
    roots = [_root(word.removesuffix("*")) for word in results.words]
    terms = [Term((*root.split(),), is_prefix=True) for root in roots]
    terms = [*dict.fromkeys([*(term for term in query.terms if term.is_quoted), *terms])]
    exact = found.identity not in results.inexact
    hits: list[SearchHit] = []
    for match in useful_texts(found.texts):
        if len(hits) >= most:
            break
        text = texts.of(row, match)
        # The heading of a markdown repeats the title.
        if match.number != MARKDOWN or find(text, terms):
            shown = _excerpt(text, terms)
            hits.append(
                SearchHit(row, match.number, match.role, match.time, shown, match.id, exact)
            )
    if not hits:
        title = next((match for match in found.texts if match.number == TITLE), found.texts[0])
        shown = _excerpt(texts.of(row, title), terms)
        hits.append(SearchHit(row, title.number, title.role, title.time, shown, title.id, exact))
    return hits


def useful_texts(texts: Sequence[TextMatch]) -> Sequence[TextMatch]:
    """Return the texts without the title. If only the title matches, return the title."""
    return [match for match in texts if match.number != TITLE] or texts


def _text_test(narrow: TextFilter) -> Callable[[TextMatch], bool] | None:
    """Return a function that applies the filters to a text; None if there are no filters."""
    since, until = narrow.since, narrow.until
    if since is None and until is None and not narrow.role:
        return None

    def takes(match: TextMatch) -> bool:
        return (
            narrow.takes(match)
            and (since is None or match.time >= since)
            and (until is None or match.time < until)
        )

    return takes


def _correct(
    index: FulltextIndex,
    words: Sequence[str],
    ranked: Sequence[RankedConversation],
    scope: RankingScope,
) -> dict[str, str]:
    """Return the misspelled words of a query, each with the word that the user probably meant.

    A word counts as misspelled if no conversation contains it and a similar word exists.
    """
    present = {n for each in ranked for n in each.words}
    absent = [word for n, word in enumerate(words) if n not in present]
    if not absent or scope.required:
        return {}
    similar = unknown(absent, lambda word: index.contains_word(word, scope))
    return {word: other for word, other in similar.items() if other}


def _add_bonuses(
    ranked: Sequence[RankedConversation], rows: Mapping[Identity, ConversationRow]
) -> None:
    folder = _current_folder()
    below = below_folder([rows[each.identity] for each in ranked], folder) if folder else []
    here = {row.identity for row in below}
    now = time.time()
    for each in ranked:
        days = max(now - rows[each.identity].last_active / 1_000_000, 0) / 86_400
        bonus = _RECENT_BONUS * 0.5 ** (days / _RECENT_DAYS)
        bonus += _FOLDER_BONUS if each.identity in here else 0
        each.score *= 1 + bonus


def _current_folder() -> str:
    """Return the path of the current folder; "" if the folder was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _prefer_signs(
    query: Query,
    ranked: Sequence[RankedConversation],
    rows: Mapping[Identity, ConversationRow],
    texts: Texts,
) -> frozenset[Identity]:
    """Raise the scores of conversations that contain the signs of the query.

    A sign is a character such as `#` in the word `#255`. An apostrophe, as in "don't", is not a
    sign. Texts with the signs become the first texts of their conversation. Return the
    conversations that have the words of the query, but not its signs.
    """
    if all("'" in sign for sign in query.signs):
        return frozenset()
    inexact: set[Identity] = set()
    end = time.monotonic() + _SIGN_SECONDS
    for each in ranked:
        row = rows[each.identity]
        if time.monotonic() > end:
            break
        exact = {match.id for match in each.texts if query.is_in(texts.of(row, match))}
        if exact:
            each.score *= 1 + _SIGN_BONUS
            each.texts.sort(key=lambda match, exact=exact: match.id not in exact)
        else:
            inexact.add(each.identity)
    return frozenset(inexact)


def _excerpt(text: str, terms: Sequence[Term]) -> Snippet:
    """Return a snippet of a text in which the found words are marked as whole words.

    If the text has a word only as a part of an identifier, the identifier is marked.
    """
    found = safe_snippet(text, terms)
    if not found.spans and (identifier := _find_identifier(folded(text), terms)):
        found = safe_snippet(text, [Term((identifier,))])
    return _mark_whole_words(found)


def _find_identifier(text: str, terms: Sequence[Term]) -> str:
    """Return the first identifier in a text that contains a word of `terms`; "" if there is none.

    The text must be folded: in lower case and without accents.
    """
    for term in terms:
        start = end = text.find(term.tokens[-1])
        if start < 0:
            continue
        while start and text[start - 1].isalnum():
            start -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        return text[start:end]
    return ""


def _mark_whole_words(found: Snippet) -> Snippet:
    """Extend each marked span of a snippet to the end of its word."""
    text, spans = found.text, list[tuple[int, int]]()
    for start, end in found.spans:
        while end < len(text) and text[end].isalnum() and text[end].isascii():
            end += 1
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    return Snippet(text, spans)


def _root(word: str) -> str:
    """Return a word without a common ending, so that a snippet marks its other forms too."""
    return _ENDING.sub("", folded(word))
