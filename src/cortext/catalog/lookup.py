"""Find the conversations that a user means, by id, by words of the title or by similarity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from cortext.catalog.row import AUR, ConversationRow

_CLOSE = 80
"""The similarity, out of 100, from which a title matches a misspelled query."""
_FAINT, _NEAR, _WORD = 45, 75, 80
"""The minimum similarity, out of 100, for suggestions.

`_FAINT` applies to a title that is compared in detail, `_NEAR` to a title that is suggested, and
`_WORD` to a single word of a title.
"""
_LOOKED, OFFERED = 12, 3
"""How many titles are compared in detail, and how many are suggested at most."""
_SHORTEST = 3
"""The minimum number of digits in an id such as `001`. Fewer digits are a position in a list.

Words of at most this many characters must match exactly.
"""
_ENOUGH = 4
"""The minimum number of characters that can stand for a longer id of a tool session."""


def resolve(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that a query names by id, by the start of an id, or by words.

    The ways are tried in this order. The first way that finds any row gives the result.
    """
    return by_id(query, rows) or by_other_id(query, rows) or by_part(query, rows)


def by_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that lists show under this id.

    These rows take precedence over rows that match the query in another way.
    """
    return _first(query.strip(), rows, (_is_called, _is_key))


def by_other_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that another program knows by this id.

    These rows are sessions to which a program gave the id, and conversations that are bound to a
    tool session with the id.
    """
    text = " ".join(query.split())  # rows have single spaces
    if not text:
        return []
    return [row for row in rows if text == row.own_id or text in row.session_ids]


def by_part(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows whose id starts with the query, otherwise the rows that contain its words.

    The words are searched in title and summary. A number of one or two digits finds nothing. A
    final "…" is ignored, because a terminal may have shortened the text that the user copied.
    """
    text = query.strip()
    if not text or is_number(text):
        return []
    found = _first(text, rows, (_begins_with,)) or with_words(text, rows)
    if not found and text.endswith("…"):
        return by_part(text.removesuffix("…"), rows)
    return found


def is_number(query: str) -> bool:
    """Return whether a query is one or two digits, which mean a position in the last list.

    Such digits are not searched as the start of an id, because many ids and dates start with them.
    """
    text = query.strip()
    return len(text) < _SHORTEST and text.isascii() and text.isdecimal()


def _first(
    text: str,
    rows: Sequence[ConversationRow],
    tests: Sequence[Callable[[ConversationRow, str], bool]],
) -> list[ConversationRow]:
    """Return all rows that pass the first of the `tests` that any row passes."""
    # No id has a space in it.
    for matches in tests if len(text.split()) == 1 else ():
        if found := [row for row in rows if matches(row, text)]:
            return found
    return []


def _is_called(row: ConversationRow, text: str) -> bool:
    return (row.path.endswith(f"/{text}") or row.path == text) and not row.tool


def _is_key(row: ConversationRow, text: str) -> bool:
    return row.key == text and bool(row.tool)


def _begins_with(row: ConversationRow, text: str) -> bool:
    if row.tool:
        # People choose the ids of `aur` sessions, so these ids may be short.
        return (len(text) >= _ENOUGH or row.tool == AUR) and row.key.startswith(text)
    if any(name.startswith(text) for name in (row.id, row.address, row.path)):
        return True
    return was_had_in(row, text)


def was_had_in(row: ConversationRow, text: str) -> bool:
    """Return whether a conversation is bound to a tool session whose id starts with `text`.

    Always False for a `text` of fewer than four characters.
    """
    return len(text) >= _ENOUGH and any(id.startswith(text) for id in row.session_ids)


def misspelt(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return all rows whose title is similar to the query, the most similar first.

    A title is similar as a whole, or if it has a similar word for every word of the query.
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
        if scores[n] >= _CLOSE or all(not each.isdisjoint(title.split()) for each in similar)
    ]
    return [rows[n] for n in sorted(found, key=lambda n: -scores[n])]


def _similar_words(typed: str, words: Collection[str]) -> set[str]:
    """Return the words that the user may have meant by a typed word.

    A word of at most three characters matches only itself.
    """
    from rapidfuzz import fuzz, process

    if len(typed) <= _SHORTEST:
        return {typed}  # a short word is similar to too many others
    found = process.extract(typed, words, scorer=fuzz.ratio, limit=None, score_cutoff=_WORD)
    return {word for word, _, _ in found}


def nearest(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return up to three rows to suggest to the user when a query finds nothing.

    Their titles, or single words of their titles, are similar to the query.
    """
    from rapidfuzz import fuzz, utils

    text = utils.default_process(query)

    def is_near(row: ConversationRow) -> bool:
        title = utils.default_process(row.title)
        return fuzz.WRatio(text, title) >= _NEAR or any(
            fuzz.ratio(typed, word) >= _WORD
            for typed in text.split()
            for word in title.split()
            if len(typed) > _SHORTEST
        )

    found = _alike(query, rows, fuzz.WRatio, most=_LOOKED, least=_FAINT)
    return [row for row in found if is_near(row)][:OFFERED]


def _alike(
    query: str,
    rows: Sequence[ConversationRow],
    scorer: Callable[..., float],
    *,
    most: int,
    least: int,
) -> list[ConversationRow]:
    """Return up to `most` rows whose title scores at least `least`, the most similar first."""
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

    def has_all(shown: str) -> bool:
        return all(word in shown for word in words)

    return [row for row in rows if has_all(f"{row.title}\n{row.summary}".casefold())]
