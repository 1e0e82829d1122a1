"""The words of a commit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.git.commit_message import message, subject, subject_prefix
from cortext.git.commit_outcome import one_line


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("API design", "API design"),
        ("  two\n lines\t", "two lines"),
        ("\x1b]0;evil\x07red\x1b[31m", "]0;evilred[31m"),
        ("\u202eevil\u2066", "evil"),
        ("a\u2028b\u2029c", "a b c"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("👩\u200d👩\u200d👧 ok", "👩\u200d👩\u200d👧 ok"),
        ("x" * 61, "x" * 59 + "…"),
        ("\x9b31m", "31m"),
    ],
)
def test_commit_subject_shows_title_as_one_clean_line(title: str, shown: str) -> None:
    """What is saved, with the title as one clean line."""
    assert subject(title, "Save session state") == f"Save session state: {shown}"


@pytest.mark.parametrize(
    ("paths", "what"),
    [
        (["c/.session/session.json"], "session update"),
        (["c/plan.md", "c/.session/session.json"], "Save session state"),
        (["c/plan.md"], "Save conversation"),
    ],
)
def test_commit_subject_names_kind_of_saved_files(paths: list[str], what: str) -> None:
    """The session alone, all of a conversation, or that without its session, which git ignores."""
    assert subject_prefix(paths, "c/.session/") == what


@pytest.mark.parametrize("title", ["", "\n", "\0", "\u202e", "\udcff"])
def test_commit_subject_shows_id_when_title_is_empty(title: str) -> None:
    """A subject always says which conversation."""
    said = message(title, "001-x", "stop", "Save session state").decode()
    assert said.splitlines()[0] == "Save session state: 001-x"


@given(st.text(), st.text(), st.text())
def test_commit_message_has_fixed_form_for_any_text(title: str, id: str, verb: str) -> None:
    """Whatever is put in, it is UTF-8, four lines, and no line begins with anybody's text."""
    lines = message(title, id, verb, "session update").decode().split("\n")
    assert [line.partition(":")[0] for line in lines[1:]] == ["", "Conversation", "Saved by", ""]
    assert lines[0].startswith("session update")
    assert len(lines[0]) <= 80


@given(st.text())
def test_one_line_removes_control_and_format_characters(text: str) -> None:
    """Nothing in it controls, turns or hides."""
    kinds = {unicodedata.category(c) for c in one_line(text) if c not in "\u200c\u200d"}
    assert kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
