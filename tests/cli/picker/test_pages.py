"""Which part of a conversation the page beside the list shows."""

from pathlib import Path

import pytest

from cortext.cli.picker.pages import Wanted, as_typed, make
from cortext.cli.picker.shelf import Shelf
from tests.cli.picker.shelves import make_workspace
from tests.command import begin


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    texts = [f"message {n}" for n in range(1, 121)]
    texts[29] = "red and green"
    texts[59] = "only red"
    begin(folder, "plan", "Colours", *texts)
    return Shelf.here()


def shown(shelf: Shelf, text: str, number: int = 0) -> str:
    page = make(Wanted(shelf.rows[0], 60, text, number))
    return "\n".join(line.plain for line in page.lines)


def test_the_message_that_has_most_of_the_words(shelf: Shelf) -> None:
    """Also an older one; the last one among equals, and of what nobody said the end."""
    assert "red and green" in shown(shelf, "green red")
    assert "only red" in shown(shelf, "red")
    assert "message 120" in shown(shelf, "unheard")


def test_the_message_that_a_search_found(shelf: Shelf) -> None:
    """By its number, with how many stand before and after it."""
    text = shown(shelf, "message", 70)
    assert "message 70" in text
    assert text.startswith("… 67 earlier messages")
    assert text.endswith("… 29 later messages")


def test_the_words_are_marked(shelf: Shelf) -> None:
    """Each line that has one is known, so that it can be gone to; a word may not be whole yet."""
    page = make(Wanted(shelf.rows[0], 60, "gre"))
    (at,) = page.matches
    line = page.lines[at]
    marked = [
        line.plain[span.start : span.end] for span in line.spans if "reverse" in str(span.style)
    ]
    assert marked == ["gre"]


@pytest.mark.parametrize(
    ("typed", "asked"), [("par", "par*"), ('"a b"', '"a b"'), ("", ""), ("c+", "c+")]
)
def test_the_last_word_may_go_on(typed: str, asked: str) -> None:
    """Only where it is a word."""
    assert as_typed(typed) == asked
