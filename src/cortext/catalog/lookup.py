"""Find the conversations that a user means, by id, by words of the title or by similarity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from cortext.catalog.row import AUR, ConversationRow

_MATCH_SCORE = 80
"""The minimum similarity, out of 100, of a title that matches a misspelled query."""
_CANDIDATE_SCORE, _SUGGESTION_SCORE, _WORD_SCORE = 45, 75, 80
"""The minimum similarity, out of 100, for suggestions.

A title needs `_CANDIDATE_SCORE` to be compared in detail. It is suggested if the whole title has
`_SUGGESTION_SCORE`, or if a single word of it has `_WORD_SCORE`.
"""
_MOST_COMPARED, OFFERED = 12, 3
"""The maximum numbers of titles that are compared in detail, and that are suggested."""
_SHORTEST = 3
"""The minimum number of digits in an id such as `001`. Fewer digits are a position in a list.

The same limit applies to misspelled words: a word of at most this length must match exactly.
"""
_SHORTEST_PREFIX = 4
"""The minimum number of characters that a user must type to name a tool session by its id."""


def resolve(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that a user means by a query: an id, the start of an id, or words.

    These meanings are tried in this order. The result has the rows for the first meaning that
    matches any row.
    """
    return by_id(query, rows) or by_other_id(query, rows) or by_part(query, rows)


def by_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose id is exactly the query.

    A conversation is also found by `DATE/ID` or by its path. Sessions of tools and programs are
    returned only if no conversation matches.
    """
    return _first_matches(query.strip(), rows, (_has_path, _has_key))


def by_other_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that match an id which another program uses.

    A session matches if an agent framework gave it this id. A conversation matches if it is bound
    (linked) to an AI tool's session with this id. The query must be the complete id.
    """
    text = " ".join(query.split())  # rows have single spaces
    if not text:
        return []
    return [row for row in rows if text == row.own_id or text in row.session_ids]


def by_part(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose id starts with the query. If there are none, search for its words.

    A row contains the words if each word is in its title or its summary. If nothing is found, a "…"
    at the end of the query is removed, because a terminal may have shortened the text that the user
    copied. A query of one or two digits finds nothing.
    """
    text = query.strip()
    if not text or is_number(text):
        return []
    found = _first_matches(text, rows, (_begins_with,)) or with_words(text, rows)
    if not found and text.endswith("…"):
        return by_part(text.removesuffix("…"), rows)
    return found


def is_number(query: str) -> bool:
    """Return whether a query is one or two digits, which mean a position in the last list.

    They never mean the start of an id, because many ids and dates start with the same digits.
    """
    text = query.strip()
    return len(text) < _SHORTEST and text.isascii() and text.isdecimal()


def _first_matches(
    text: str,
    rows: Sequence[ConversationRow],
    tests: Sequence[Callable[[ConversationRow, str], bool]],
) -> list[ConversationRow]:
    """Return the rows that pass the first test which any row passes.

    The tests are tried in order. Each test is called with a row and `text`. The result is empty if
    no row passes any test, or if `text` is not a single word.
    """
    # A text with a space cannot be an id.
    for matches in tests if len(text.split()) == 1 else ():
        if found := [row for row in rows if matches(row, text)]:
            return found
    return []


def _has_path(row: ConversationRow, text: str) -> bool:
    return (row.path.endswith(f"/{text}") or row.path == text) and not row.tool


def _has_key(row: ConversationRow, text: str) -> bool:
    return row.key == text and bool(row.tool)


def _begins_with(row: ConversationRow, text: str) -> bool:
    if row.tool:
        # People choose the ids of `aur` sessions, so these ids may be short.
        return (len(text) >= _SHORTEST_PREFIX or row.tool == AUR) and row.key.startswith(text)
    if any(name.startswith(text) for name in (row.id, row.address, row.path)):
        return True
    return has_bound_session(row, text)


def has_bound_session(row: ConversationRow, text: str) -> bool:
    """Return whether a conversation is bound to an AI tool's session whose id starts with `text`.

    Always False for a `text` of fewer than four characters.
    """
    return len(text) >= _SHORTEST_PREFIX and any(id.startswith(text) for id in row.session_ids)


def misspelt(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return all rows whose title is similar to a misspelled query, the most similar first.

    Either the whole title is similar to the query, or each word of the query is similar to a word
    of the title.
    """
    from rapidfuzz import fuzz, utils

    text = utils.default_process(query)
    if not text or is_number(query):
        return []
    titles = [utils.default_process(row.title) for row in rows]
    words = {word for title in titles for word in title.split()}
    similar = [_similar_words(typed, words) for typed in text.split()]
    scores = [fuzz.token_sort_ratio(text, title) for title in titles]
    found = [
        n
        for n, title in enumerate(titles)
        if scores[n] >= _MATCH_SCORE or all(not each.isdisjoint(title.split()) for each in similar)
    ]
    return [rows[n] for n in sorted(found, key=lambda n: -scores[n])]


def _similar_words(typed: str, words: Collection[str]) -> set[str]:
    """Return the words that the user may have meant by a typed word.

    A word of at most three characters matches only itself.
    """
    from rapidfuzz import fuzz, process

    if len(typed) <= _SHORTEST:
        return {typed}  # a short word is similar to too many others
    found = process.extract(typed, words, scorer=fuzz.ratio, limit=None, score_cutoff=_WORD_SCORE)
    return {word for word, _, _ in found}


def nearest(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return up to three rows to suggest to the user when a query finds nothing.

    Either the whole title of such a row, or a word of the title, is similar to the query.
    """
    from rapidfuzz import fuzz, utils

    text = utils.default_process(query)

    def is_near(row: ConversationRow) -> bool:
        title = utils.default_process(row.title)
        return fuzz.WRatio(text, title) >= _SUGGESTION_SCORE or any(
            fuzz.ratio(typed, word) >= _WORD_SCORE
            for typed in text.split()
            for word in title.split()
            if len(typed) > _SHORTEST
        )

    found = _most_similar(query, rows, fuzz.WRatio, most=_MOST_COMPARED, least=_CANDIDATE_SCORE)
    return [row for row in found if is_near(row)][:OFFERED]


def _most_similar(
    query: str,
    rows: Sequence[ConversationRow],
    scorer: Callable[..., float],
    *,
    most: int,
    least: int,
) -> list[ConversationRow]:
    """Return up to `most` rows whose title is similar to the query, the most similar first.

    `scorer` is a rapidfuzz function that returns the similarity of two texts, from 0 to 100.
    `least` is the minimum similarity.
    """
    from rapidfuzz import process, utils

    if not utils.default_process(query):
        return []
    found = process.extract(
        query,
        [row.title for row in rows],
        scorer=scorer,
        processor=utils.default_process,
        limit=most,
        score_cutoff=least,
    )
    return [rows[index] for _, _, index in found]


def with_words(text: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose title or summary contains each word of `text`, ignoring case."""
    words = text.casefold().split()

    def has_all(text_of_row: str) -> bool:
        return all(word in text_of_row for word in words)

    return [row for row in rows if has_all(f"{row.title}\n{row.summary}".casefold())]
