"""How much a search reads and compares, counted and not timed."""

import sqlite3
from pathlib import Path

import pytest

from cortext.catalog.fulltext import fulltext_index, ranked_matches
from cortext.catalog.fulltext.fulltext_index import FulltextIndex, TextMatch
from cortext.catalog.row import ConversationRow
from cortext.features.search.search import Texts
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from tests.catalog.spaces import Space

FEW_READS = 20


class CountedId(int):
    """The id of a text, which counts how often it is compared with others."""

    comparisons = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        CountedId.comparisons += 1
        return int.__eq__(self, other)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the messages whose texts a search reads."""
    numbers: list[int] = []
    read = Texts.of

    def count(self: Texts, row: ConversationRow, match: TextMatch) -> str:
        numbers.append(match.number)
        return read(self, row, match)

    monkeypatch.setattr(Texts, "of", count)
    return numbers


def answer(request: SearchRequest) -> SearchPage:
    finder = Finder()
    assert finder.refresh(patience=None).left == 0
    return finder.answer(request)


@pytest.mark.parametrize("best", [True, False])
def test_search_reads_few_texts_of_long_conversation(
    current_space: Space, reads: list[int], best: bool
) -> None:
    current_space.add("001-a", *(f"Otter number {number}." for number in range(400)))
    [group] = answer(SearchRequest("otter", best=best)).groups
    assert len(group.hits) == 3
    assert len(reads) <= FEW_READS


@pytest.mark.parametrize("best", [True, False])
def test_search_reads_few_texts_of_many_conversations(
    current_space: Space, reads: list[int], best: bool
) -> None:
    for number in range(80):
        current_space.add(f"{number:03}-a", "The otter swims.", "The otter dives.")
    page = answer(SearchRequest("otter", most=3, each=1, best=best))
    assert sum(len(group.hits) for group in page.groups) == 3
    assert len(reads) <= FEW_READS


def test_sorting_by_signs_costs_no_more_per_text_in_long_conversation(
    current_space: Space, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ranked_matches,
        "TextMatch",
        lambda id, *location: TextMatch(CountedId(id), *location),  # type: ignore[arg-type]
    )
    monkeypatch.setattr("cortext.features.search.ranked_search._SIGN_SECONDS", 600.0)
    costs: list[int] = []
    for name, count in (("otter", 100), ("badger", 400)):
        current_space.add(
            f"{count}-a", *(f"{name} {n}: see {'#' * (n % 2)}255." for n in range(count))
        )
        reads.clear()
        CountedId.comparisons = 0
        [group] = answer(SearchRequest(f"{name} #255")).groups
        assert all("#255" in hit.snippet.text for hit in group.hits)
        costs.append(len(reads) + CountedId.comparisons)
    few, many = costs
    assert many < 6 * few


def count_texts() -> int:
    """Return how many texts are in the index file, with those that were replaced."""
    path = FulltextIndex.at_home().path
    with sqlite3.connect(path) as db:
        [(next_id,)] = db.execute("SELECT value FROM facts WHERE name = 'next'")
    db.close()
    return next_id - 1


def test_index_stays_small_when_markdown_is_edited_again_and_again(
    current_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext_index, "_STALE_SIZE", 2000)
    folder = current_space.add("001-a", "The otter swims.")
    counts: list[int] = []
    for number in range(60):
        text = f"# 001-a\n\nEdition{number} " + "of the badger " * 10
        (folder / "plan.md").write_text(text, encoding="utf-8")
        assert answer(SearchRequest(f"edition{number}")).groups
        counts.append(count_texts())
    assert counts[5] > counts[1], "each edit adds a text"
    assert max(counts[30:]) <= max(counts[:30]) < 40
