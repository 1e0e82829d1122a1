"""Words of a search are words: neither SQL, nor the query language of the index."""

from pathlib import Path

import pytest

from tests.command import begin, cortext, ok

WORDS = [
    "' OR 1=1 --", "'; DROP TABLE words; --", '" OR "" = "', "title:*", "{title}: x",
    "NEAR(a b, 5)", "^cursors", "cursors AND", "OR OR", "(((", "*", "-cursors", "\\", "%",
    "?1", "x" * 5000,
]  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries")
    ok(folder, "init")
    begin(folder, "plan", "Paging", "How do we page the orders?", "With opaque cursors.")
    return folder


@pytest.mark.parametrize("words", WORDS)
def test_words_of_a_search_are_words(words: str, workspace: Path) -> None:
    """They find something or nothing, or are refused in a sentence; the index is there after."""
    done = cortext(workspace, "search", "--", words)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "sqlite" not in done.stderr.lower()
    assert "syntax" not in done.stderr.lower()


def test_the_index_is_there_after_all(workspace: Path) -> None:
    for words in WORDS[:2]:
        cortext(workspace, "search", "--", words)
    assert "cursors" in ok(workspace, "search", "cursors")
