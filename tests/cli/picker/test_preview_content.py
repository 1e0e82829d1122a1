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


def test_preview_shows_message_with_most_query_words(shelf: PickerItems) -> None:
    """Also an older one; the last one among equals, and of what nobody said the end."""
    assert "red and green" in shown(shelf, "green red")
    assert "only red" in shown(shelf, "red")
    assert "message 120" in shown(shelf, "unheard")


def test_preview_shows_message_by_search_hit_number(shelf: PickerItems) -> None:
    """By its number, with how many stand before and after it."""
    text = shown(shelf, "message", 70)
    assert "message 70" in text
    assert text.startswith("… 67 earlier messages")
    assert text.endswith("… 29 later messages")


def test_preview_highlights_partial_query_word(shelf: PickerItems) -> None:
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


def test_preview_expands_and_marks_matching_tool_results(busy: PickerItems) -> None:
    """Each result that has the words is a place that can be gone to, with its words marked; others
    stay in the stubs of their calls."""
    page = make(PreviewRequest(busy.rows[0], 60, "ibex"))
    assert (page.places, page.number) == ([4, 3], 4)
    assert marked(page, 4) == "the ibex runs"
    assert marked(page, 3) == "the ibex sleeps"
    page = make(PreviewRequest(busy.rows[0], 60, "ibex runs", 4))
    assert marked(page, 4) == "the ibex runs"
    assert page.line_of(3) is None


def test_preview_marks_match_in_tool_call_arguments(busy: PickerItems) -> None:
    """Also where a stub leaves it out."""
    page = make(PreviewRequest(busy.rows[0], 60, "zebra", 2))
    assert "zebra" in marked(page, 2)


def test_preview_shows_matching_part_of_long_document(busy: PickerItems) -> None:
    """The part of it that has the words."""
    row = busy.rows[0]
    (Path(row.place.folder) / "debug.md").write_text("word " * 9000 + "an okapi", encoding="utf-8")
    page = make(PreviewRequest(row, 60, "okapi", -1))
    assert marked(page, 0).endswith("okapi")


@pytest.mark.parametrize(
    ("typed", "asked"), [("par", "par*"), ('"a b"', '"a b"'), ("", ""), ("c+", "c+")]
)
def test_as_typed_adds_prefix_wildcard_only_to_plain_last_word(typed: str, asked: str) -> None:
    """Only where it is a word."""
    assert as_typed(typed) == asked


def test_preview_has_message_count_and_first_request(shelf: PickerItems) -> None:
    page = make(PreviewRequest(shelf.rows[0], 60, "message", 70))
    assert (page.count, page.request) == (120, "message 1")
