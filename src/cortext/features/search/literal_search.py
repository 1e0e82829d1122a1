"""Decide whether to search the transcripts for the literal text of a query, and search them.

Such a scan reads every transcript, so it runs only if the index does not contain the whole query. A
query whose words are all in one conversation usually needs no scan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity, TextMatch
from cortext.catalog.fulltext.ranked_matches import RankedConversation
from cortext.catalog.row import ConversationRow
from cortext.features.search.search import TextFilter
from cortext.features.search.transcript_scan_result import ScanLimits, TranscriptScan
from cortext.formats.text_search.literal_query import LiteralText
from cortext.formats.text_search.search_query import Query, parse

_LINE = 4
"""A query that looks like code is compared as a whole line if it has at least this many words."""
_SENTENCE = 5
"""Any other query may be a line of tool output if it has at least this many content words."""
_MOST_EXAMINED = 1000
"""The number of texts that are examined to find one that passes the filters of the search."""
_SPOKEN_TEXT = "why how what when where who which did does do we i you our my your us me was were"
_SPOKEN_WORDS = frozenset(_SPOKEN_TEXT.split())
"""Words of questions. They are rare in tool output, so a query with one of them is not output."""


class IndexedTexts:
    """The indexed texts that a search covers.

    `takes` is a function that returns whether the search covers a text.
    """

    def __init__(self, index: FulltextIndex, takes: Callable[[TextMatch], bool]) -> None:
        self._index, self._takes = index, takes

    def has_phrase(self, text: str) -> bool:
        """Return whether an indexed text contains the words of `text` in this order."""
        return self._has(_phrase(text))

    def has_phrases(self, texts: Sequence[str]) -> bool:
        """Return whether one indexed text contains all these phrases."""
        return self._has(" AND ".join(filter(None, map(_phrase, texts))))

    def has_all(self, words: Sequence[str]) -> bool:
        """Return whether one indexed text contains all words."""
        return self._has(" AND ".join(f'"{word}"' for word in words))

    def _has(self, expression: str) -> bool:
        # A text of common signs has no expression. Every transcript contains such a text.
        if not expression:
            return True
        matches = self._index.find(expression, most=1)
        return any(self._takes(match) for match in islice(matches, _MOST_EXAMINED))


def _phrase(text: str) -> str:
    """Return the FTS5 expression for the words of `text` in this order; "" if it has no words."""
    return parse(f'"{text.replace(chr(34), " ")}"').expression


def find_literal(
    texts: IndexedTexts,
    query: Query,
    words: Sequence[str],
    ranked: Sequence[RankedConversation],
    rows: Mapping[Identity, ConversationRow],
    narrow: TextFilter,
    limits: ScanLimits,
) -> TranscriptScan:
    """Scan the transcripts for the text of a query, if the index does not have all of it.

    `words` are the words of the query, and `ranked` are the conversations that the index found. The
    scan covers the conversations in `rows`. `narrow` filters their messages, and `limits` limits
    the time. If no scan is needed, the result is empty.
    """
    present = {n for each in ranked for n in each.words}
    missing = [word.replace(" ", "") for n, word in enumerate(words) if n not in present]
    literal = LiteralText(query.text, () if query.has_operators or query.required else missing)
    if not (words and literal.is_searchable) or not _needs_scan(
        texts, query, literal, words, ranked
    ):
        return TranscriptScan()
    from cortext.features.search.tool_output_scan import scan

    return scan(rows.values(), literal, narrow, limits)


def _needs_scan(
    texts: IndexedTexts,
    query: Query,
    literal: LiteralText,
    words: Sequence[str],
    ranked: Sequence[RankedConversation],
) -> bool:
    if query.required and not query.has_operators:
        return not ranked
    if not query.has_operators and not any(len(each.words) == len(words) for each in ranked):
        return True
    if literal.is_code:
        is_line = literal.is_spaced or len(literal.text.split()) >= _LINE
        unseen = (
            is_line
            or not all(map(texts.has_phrase, literal.code_words))
            or not texts.has_phrases(literal.text.split())
        )
        return unseen and not texts.has_phrase(literal.text)
    if len(words) < _SENTENCE or not _SPOKEN_WORDS.isdisjoint(literal.text.lower().split()):
        return not ranked
    return not texts.has_all(words)
