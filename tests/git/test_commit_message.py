"""The words of a commit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.git.commit_message import message, subject, what_is_saved
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
def test_subject(title: str, shown: str) -> None:
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
def test_a_commit_says_what_is_in_it(paths: list[str], what: str) -> None:
    """The session alone, all of a conversation, or that without its session, which git ignores."""
    assert what_is_saved(paths, "c/.session/") == what


@pytest.mark.parametrize("title", ["", "\n", "\0", "\u202e", "\udcff"])
def test_without_a_title_the_id_stands_for_it(title: str) -> None:
    """A subject always says which conversation."""
    said = message(title, "001-x", "stop", "Save session state").decode()
    assert said.splitlines()[0] == "Save session state: 001-x"


@given(st.text(), st.text(), st.text())
def test_message_has_one_form(title: str, id: str, verb: str) -> None:
    """Whatever is put in, it is UTF-8, four lines, and no line begins with anybody's text."""
    lines = message(title, id, verb, "session update").decode().split("\n")
    assert [line.partition(":")[0] for line in lines[1:]] == ["", "Conversation", "Saved by", ""]
    assert lines[0].startswith("session update")
    assert len(lines[0]) <= 80


@given(st.text())
def test_one_line(text: str) -> None:
    """Nothing in it controls, turns or hides."""
    kinds = {unicodedata.category(c) for c in one_line(text) if c not in "\u200c\u200d"}
    assert kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
