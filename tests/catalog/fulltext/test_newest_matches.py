"""The order in which texts are found: by their own times, whenever and in whatever order they came
into the index."""

import random
from itertools import islice
from pathlib import Path

import pytest

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity, TextEntry, TextMatch
from cortext.formats.text_search.search_query import parse, spaced

ODD = 3
"""Every so many texts have the odd word."""


@pytest.fixture
def newest_words(tmp_path: Path) -> FulltextIndex:
    return FulltextIndex(str(tmp_path / "cache/words.sqlite3"))


@pytest.fixture(params=[1024, 64, 7])
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fulltext_rows", "newest_matches"):
        monkeypatch.setattr(f"cortext.catalog.fulltext.{module}.BLOCK", request.param)


def put(words: FulltextIndex, name: str, times: list[int], first: int = 1) -> Identity:
    """Messages of a conversation that were said at these times."""
    identity = ("/w", name)
    new = [
        TextEntry(number, "user", time, "same odd" if number % ODD == 0 else "same", number, 1)
        for number, time in enumerate(times, first)
    ]
    words.put(identity, "1", new, keep=first > 1)
    return identity


def places(spots: list[TextMatch]) -> list[tuple[int, int]]:
    return [(spot.time, spot.id) for spot in spots]


@pytest.mark.usefixtures("_block")
def test_find_interleaves_parallel_conversations_newest_first(newest_words: FulltextIndex) -> None:
    """Of conversations that went on at the same time the newest texts come first, in turns."""
    for name in range(3):
        put(newest_words, str(name), [1000 * n + name for n in range(600)])
    found = [spot.time for spot in newest_words.find('"same"')]
    assert found == sorted((1000 * n + name for n in range(600) for name in range(3)), reverse=True)
    few = [spot.time for spot in islice(newest_words.find('"same"', most=5), 5)]
    assert few == found[:5]


@pytest.mark.usefixtures("_block")
def test_old_conversations_indexed_last_are_found_last(newest_words: FulltextIndex) -> None:
    """Old conversations that come into the index last are found last."""
    put(newest_words, "new", [9_000_000 + n for n in range(50)])
    for n in range(200):
        put(newest_words, f"old{n}", [n * 10 + m for m in range(10)])
    found = [spot.identity[1] for spot in islice(newest_words.find('"same"', most=20), 60)]
    assert found == ["new"] * 50 + ["old199"] * 10


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("seed", range(4))
def test_find_sorts_by_time_and_pages_each_text_once(
    newest_words: FulltextIndex, seed: int
) -> None:
    """Whatever comes when, and is dropped or replaced, the order is that of the times; pages that
    begin where the last one ended have every text once."""
    rng = random.Random(seed)
    there: dict[str, list[int]] = {}
    for _ in range(60):
        name, count = str(rng.randrange(12)), rng.choice((1, 2, 30, 300))
        times = [rng.randrange(10**6) for _ in range(count)]
        if rng.random() < 0.15 and name in there:
            newest_words.drop([("/w", name)])
            del there[name]
        elif rng.random() < 0.6 and name in there:
            put(newest_words, name, times, first=len(there[name]) + 1)
            there[name] += times
        else:
            put(newest_words, name, times)
            there[name] = times
    for word, every in (("same", 1), ("odd", ODD)):
        found = list(newest_words.find(f'"{word}"', most=rng.choice((1, 20, 500))))
        said = sorted((t for ts in there.values() for t in ts[every - 1 :: every]), reverse=True)
        assert [spot.time for spot in found] == said
        assert places(found) == sorted(places(found), reverse=True)
        paged: list[TextMatch] = []
        while page := list(
            islice(
                newest_words.find(f'"{word}"', most=97, before=places(paged[-1:] or [_last()])[0]),
                97,
            )
        ):
            paged += page
        assert paged == found


def _last() -> TextMatch:
    """After all others."""
    return TextMatch(2**62, ("", ""), 0, "", 2**62, 0, 0)


@pytest.mark.usefixtures("_block")
def test_texts_of_same_time_are_found_latest_indexed_first(newest_words: FulltextIndex) -> None:
    """Of texts of one time those that came last come first, over any number of pages."""
    put(newest_words, "a", [5] * 500)
    put(newest_words, "b", [5] * 500)
    found = list(newest_words.find('"same"'))
    assert [spot.id for spot in found] == list(range(1000, 0, -1))
    assert list(newest_words.find('"same"', before=(5, 300))) == found[-299:]


def test_find_passes_over_skipped_conversations(newest_words: FulltextIndex) -> None:
    """What is of no use any more is passed over, and what comes after it is found."""
    crowd, other = (
        put(newest_words, "crowd", [*range(1000, 6000)]),
        put(newest_words, "other", [1, 2]),
    )
    seen: set[Identity] = set()
    count = 0
    for spot in newest_words.find('"same"', most=5, skips=lambda identity: identity in seen):
        seen.add(spot.identity)
        count += spot.identity == crowd
    assert seen == {crowd, other}
    assert 1 <= count <= 512


@pytest.mark.usefixtures("_block")
def test_find_within_conversations_matches_filtered_full_search(
    newest_words: FulltextIndex,
) -> None:
    """Only what a few conversations have, in the same order, before a place or from the start."""
    mine = [put(newest_words, f"mine{n}", [*range(n, 3000, 30)]) for n in range(2)]
    for n in range(20):
        put(newest_words, f"other{n}", [*range(100)])
    mine.append(put(newest_words, "late", [1500]))
    rest = {*mine}

    def find(before: tuple[int, int] | None, within: list[Identity]) -> list[TextMatch]:
        found = newest_words.find(
            '"same"', before=before, within=within, skips=lambda i: i not in rest
        )
        return list(found)

    for before in (None, (1500, 0), (0, 1)):
        assert find(before, mine) == find(before, [])
    assert len(find(None, mine)) == 201
    assert find(None, [("/w", "nobody")]) == []


def test_search_distinguishes_words_by_vowel_signs(newest_words: FulltextIndex) -> None:
    """A vowel sign is part of its word: other words with the same consonants are not found."""
    said = ("की योजना", "का नियम", "cafe\u0301 plan", "கி", "கு")
    newest_words.put(
        ("/w", "a"), "1", [TextEntry(n, "user", n, t) for n, t in enumerate(said, 1)], keep=False
    )
    for text, numbers in (("की", [1]), ("का", [2]), ("cafe", [3]), ("café", [3]), ("கி", [4])):
        assert [spot.number for spot in newest_words.find(f'"{text}"')] == numbers


@pytest.mark.parametrize("typed", ["елка", "ёлка", "ЁЛКА"])
def test_search_finds_cyrillic_yo_with_and_without_dots(
    newest_words: FulltextIndex, typed: str
) -> None:
    """The letter that many write without its dots is found with them and without."""
    said = ("ёлка горит", "новая елка", "другая йога")
    new = [TextEntry(n, "user", n, spaced(text)) for n, text in enumerate(said, 1)]
    newest_words.put(("/w", "a"), "1", new, keep=False)
    assert [spot.number for spot in newest_words.find(parse(typed).expression)] == [2, 1]
