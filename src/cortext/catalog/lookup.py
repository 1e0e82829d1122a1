"""From what a person typed to a conversation: the first tier with a match decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from cortext.catalog.row import AUR, ConversationRow

_CLOSE = 80
"""How alike a misspelt title is, of 100."""
_FAINT, _NEAR, _WORD = 45, 75, 80
"""How alike a title is that is looked at at all, one that may be meant, and a word of one: a short
word is, more or less, a part of any title."""
_LOOKED, OFFERED = 12, 3
_SHORTEST = 3
"""Digits that a number which names something has, as `001` does."""
_ENOUGH = 4
"""Characters of a tool's id that name a session: fewer are more likely meant otherwise."""


def resolve(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """One match, several, or none: by an id, the beginning of one, or words."""
    return by_id(query, rows) or by_other_id(query, rows) or by_part(query, rows)


def by_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Those that lists have under this id: nothing else that it may name comes before them."""
    return _first(query.strip(), rows, (_is_called, _is_key))


def by_other_id(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """The sessions that their programs know by this id, and the conversations that were had in a
    tool's session of it."""
    text = " ".join(query.split())  # as rows have it
    if not text:
        return []
    return [row for row in rows if text == row.own_id or text in row.session_ids]


def by_part(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Those whose id begins so, else those that have the words in title or summary; none for a
    bare number. What a terminal cut off is as good as what it shows of it."""
    text = query.strip()
    if not text or is_number(text):
        return []
    found = _first(text, rows, (_begins_with,)) or with_words(text, rows)
    if not found and text.endswith("…"):
        return by_part(text.removesuffix("…"), rows)
    return found


def is_number(query: str) -> bool:
    """Whether it is one or two digits: these are the number of something in a list. Every date and
    every id of a workspace begins with some."""
    text = query.strip()
    return len(text) < _SHORTEST and text.isascii() and text.isdecimal()


def _first(
    text: str,
    rows: Sequence[ConversationRow],
    tests: Sequence[Callable[[ConversationRow, str], bool]],
) -> list[ConversationRow]:
    """Those for which the first test holds that does so for any."""
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
        # Ids of `aur` are names that people gave.
        return (len(text) >= _ENOUGH or row.tool == AUR) and row.key.startswith(text)
    if any(name.startswith(text) for name in (row.id, row.address, row.path)):
        return True
    return was_had_in(row, text)


def was_had_in(row: ConversationRow, text: str) -> bool:
    """Whether a conversation was had in a tool's session whose id begins so."""
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
    """Return the words that a typed word may be a misspelling of; a short word is only itself."""
    from rapidfuzz import fuzz, process

    if len(typed) <= _SHORTEST:
        return {typed}  # a short word is similar to too many others
    found = process.extract(typed, words, scorer=fuzz.ratio, limit=None, score_cutoff=_WORD)
    return {word for word, _, _ in found}


def nearest(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """What looks like it, or has a word that does, when nothing matches; maybe none."""
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
    """Return the rows that have all the words in their title or summary."""
    words = text.casefold().split()

    def has_all(shown: str) -> bool:
        return all(word in shown for word in words)

    return [row for row in rows if has_all(f"{row.title}\n{row.summary}".casefold())]
