"""Which part of a conversation the page beside the list shows."""

from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.cli.picker.picker_items import PickerItems
from cortext.cli.picker.preview_content import PreviewPage, PreviewRequest, as_typed, make
from tests.cli.picker.picker_workspace import make_workspace
from tests.command import begin


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PickerItems:
    folder = make_workspace(tmp_path / "project")
    monkeypatch.chdir(folder)
    texts = [f"message {n}" for n in range(1, 121)]
    texts[29] = "red and green"
    texts[59] = "only red"
    begin(folder, "plan", "Colours", *texts)
    return PickerItems.here()


def shown(shelf: PickerItems, text: str, number: int = 0) -> str:
    page = make(PreviewRequest(shelf.rows[0], 60, text, number))
    return "\n".join(line.plain for line in page.lines)


def test_the_message_that_has_most_of_the_words(shelf: PickerItems) -> None:
    """Also an older one; the last one among equals, and of what nobody said the end."""
    assert "red and green" in shown(shelf, "green red")
    assert "only red" in shown(shelf, "red")
    assert "message 120" in shown(shelf, "unheard")


def test_the_message_that_a_search_found(shelf: PickerItems) -> None:
    """By its number, with how many stand before and after it."""
    text = shown(shelf, "message", 70)
    assert "message 70" in text
    assert text.startswith("… 67 earlier messages")
    assert text.endswith("… 29 later messages")


def test_the_words_are_marked(shelf: PickerItems) -> None:
    """Each line that has one is known, so that it can be gone to; a word may not be whole yet."""
    page = make(PreviewRequest(shelf.rows[0], 60, "gre"))
    (at,) = page.matches
    line = page.lines[at]
    marked = [
        line.plain[span.start : span.end] for span in line.spans if "reverse" in str(span.style)
    ]
    assert marked == ["gre"]


def marked(page: PreviewPage, number: int) -> str:
    """The line that is gone to for a message, which has a mark."""
    at = page.line_of(number)
    assert at is not None
    assert at in page.matches
    return page.lines[at].plain.strip()


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PickerItems:
    """A conversation in which tools were called, and one that began long before."""
    folder = make_workspace(tmp_path / "busy")
    monkeypatch.chdir(folder)
    calls = [
        {"id": name, "name": "Write", "arguments": {"path": f"{name}.py", "content": "a zebra"}}
        for name in ("c1", "c2")
    ]
    long = "\n".join([f"line {n}" for n in range(20)])
    said = [
        SessionMessage("user", "Do it."),
        SessionMessage("assistant", "I do.", tool_calls=calls),
        SessionMessage("tool", f"one\nthe ibex sleeps\n{long}", tool_call_id="c1"),
        SessionMessage("tool", f"two\nthe ibex runs\n{long}", tool_call_id="c2"),
        SessionMessage("assistant", "Done."),
    ]
    store = open_session_store(f"workspace:{folder}")
    store.save(Session("001-debug-x", title="Busy", kind="debug", messages=said))
    return PickerItems.here()


def test_what_tools_printed(busy: PickerItems) -> None:
    """Each result that has the words is a place that can be gone to, with its words marked; others
    stay in the stubs of their calls."""
    page = make(PreviewRequest(busy.rows[0], 60, "ibex"))
    assert (page.places, page.number) == ([4, 3], 4)
    assert marked(page, 4) == "the ibex runs"
    assert marked(page, 3) == "the ibex sleeps"
    page = make(PreviewRequest(busy.rows[0], 60, "ibex runs", 4))
    assert marked(page, 4) == "the ibex runs"
    assert page.line_of(3) is None


def test_what_tools_were_called_with(busy: PickerItems) -> None:
    """Also where a stub leaves it out."""
    page = make(PreviewRequest(busy.rows[0], 60, "zebra", 2))
    assert "zebra" in marked(page, 2)


def test_what_a_document_says_far_below(busy: PickerItems) -> None:
    """The part of it that has the words."""
    row = busy.rows[0]
    (Path(row.place.folder) / "debug.md").write_text("word " * 9000 + "an okapi", encoding="utf-8")
    page = make(PreviewRequest(row, 60, "okapi", -1))
    assert marked(page, 0).endswith("okapi")


@pytest.mark.parametrize(
    ("typed", "asked"), [("par", "par*"), ('"a b"', '"a b"'), ("", ""), ("c+", "c+")]
)
def test_the_last_word_may_go_on(typed: str, asked: str) -> None:
    """Only where it is a word."""
    assert as_typed(typed) == asked
