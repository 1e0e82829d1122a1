"""From what a person typed to a conversation: the first tier with a match decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """What a conversation can be found by; `key` names it for certain."""

    key: str
    title: str
    summary: str


def resolve(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """One match, several, or none."""
    text = query.strip()
    words = text.casefold().split()
    tiers: tuple[Callable[[Candidate], bool], ...] = (
        lambda c: c.key == text,
        lambda c: c.key.rpartition("/")[2] == text,
        lambda c: c.key.rpartition("/")[2].startswith(text) or c.key.startswith(text),
        lambda c: _has_words(c.title, words),
        lambda c: _has_words(f"{c.title} {c.summary}", words),
    )
    for matches in tiers:
        found = [candidate for candidate in candidates if words and matches(candidate)]
        if found:
            return found
    return []


def nearest(query: str, candidates: Sequence[Candidate], most: int = 3) -> list[Candidate]:
    """What looks most like it, when nothing matches."""
    from difflib import SequenceMatcher

    def likeness(candidate: Candidate) -> float:
        matcher = SequenceMatcher(None, query.casefold(), candidate.title.casefold())
        return matcher.ratio()

    return sorted(candidates, key=likeness, reverse=True)[:most]


def _has_words(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
