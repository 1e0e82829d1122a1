"""From what a person typed to a conversation: the first tier with a match decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cortext.index.listed import Listed

_CLOSE = 80
"""How alike a misspelt title is, of 100."""


def resolve(query: str, rows: Sequence[Listed], numbered: Listed | None = None) -> list[Listed]:
    """One match, several, or none. `numbered` has this number in the last list shown."""
    text = query.strip()
    if not text:
        return []
    tiers: tuple[Callable[[Listed], bool], ...] = (
        lambda row: row.id == text or f"/{row.path}".endswith(f"/{text}"),
        lambda row: row is numbered,
        lambda row: (
            row.id.startswith(text) or row.address.startswith(text) or row.path.startswith(text)
        ),
    )
    for matches in tiers:
        found = [row for row in rows if matches(row)]
        if found:
            return found
    return with_words(text, rows)


def misspelt(query: str, rows: Sequence[Listed]) -> list[Listed]:
    """Those whose title it may be, with a slip of the finger."""
    from rapidfuzz import fuzz

    return _alike(query, rows, fuzz.token_sort_ratio, most=10, least=_CLOSE)


def nearest(query: str, rows: Sequence[Listed]) -> list[Listed]:
    """What looks most like it, when nothing matches."""
    from rapidfuzz import fuzz

    return _alike(query, rows, fuzz.WRatio, most=3, least=1)


def _alike(
    query: str, rows: Sequence[Listed], scorer: Callable[..., float], *, most: int, least: int
) -> list[Listed]:
    from rapidfuzz import process, utils

    found = process.extract(
        query,
        [row.title for row in rows],
        scorer=scorer,
        processor=utils.default_process,
        limit=most,
        score_cutoff=least,
    )
    return [rows[index] for _, _, index in found]


def with_words(text: str, rows: Sequence[Listed]) -> list[Listed]:
    """Those that have all the words in their title or summary."""
    words = text.casefold().split()
    texts = (f"{row.title}\n{row.summary}".casefold() for row in rows)
    return [
        row for row, found in zip(rows, texts, strict=True) if all(word in found for word in words)
    ]
