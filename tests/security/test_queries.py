"""Words of a search are words: neither SQL, nor the query language of the index."""

from pathlib import Path

import pytest

from tests.command import begin, cortext, ok

FINDING = ["^cursors", "cursors AND", "-cursors"]
"""The word in them is looked for, and the sign is none."""
WORDS = [
    "' OR 1=1 --", "'; DROP TABLE words; --", '" OR "" = "', "title:*", "{title}: x",
    "NEAR(a b, 5)", "OR OR", "(((", "*", "\\", "%", "?1", "x" * 5000, *FINDING,
]  # fmt: skip


@pytest.fixture(scope="module")
def query_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations: one has the word, the other has none of all these words."""
    folder = tmp_path_factory.mktemp("queries")
    ok(folder, "init")
    begin(folder, "plan", "Paging", "How do we page the orders?", "With opaque cursors.")
    begin(folder, "learn", "Zebras", "Why stripes?", "Nobody knows.")
    return folder


QUICK = (WORDS[0], WORDS[3], WORDS[8], FINDING[0])
"""In `make test`; the others take a process each."""


@pytest.mark.parametrize(
    "words", [w if w in QUICK else pytest.param(w, marks=pytest.mark.slow) for w in WORDS]
)
def test_search_treats_sql_and_query_syntax_as_words(words: str, query_workspace: Path) -> None:
    """They find what has them and nothing else, and exit as a search that found so much."""
    done = cortext(query_workspace, "search", "--", words)
    finds = words in FINDING
    assert done.returncode == (0 if finds else 1), done.stderr
    assert ("Paging" in done.stdout, "Zebras" in done.stdout) == (finds, False)
    assert finds or "No results" in done.stderr or "no word to search for" in done.stderr
    for sign in ("Traceback", "sqlite", "syntax"):
        assert sign.lower() not in done.stderr.lower()


def test_search_index_works_after_hostile_queries(query_workspace: Path) -> None:
    for words in WORDS[:2]:
        cortext(query_workspace, "search", "--", words)
    assert "cursors" in ok(query_workspace, "search", "cursors")
