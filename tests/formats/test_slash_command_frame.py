"""The frame around what a slash command became."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.history_text import unescape
from cortext.formats.slash_command_frame import AFTER, as_typed, frame, without_mentions

NONCE = "0123456789abcdef" * 2
SHELL = "[Shell command 'cortext slash new plan -- 'it's'' terminated by signal 0]"


@given(st.text(), st.text(), st.sampled_from(["", f"\n\n{AFTER}", f"\n{SHELL}\n\n{AFTER}\n"]))
def test_as_typed_returns_typed_slash_command_from_frame(text: str, words: str, rest: str) -> None:
    """Whatever our text and the words hold, as the tools keep it."""
    framed = frame(text, command="workspace.plan", words=words, nonce=NONCE)
    assert as_typed(framed + rest) == f"/workspace.plan {words.strip()}".rstrip()


@pytest.mark.parametrize(
    "text",
    [
        "Only words.",
        frame("a", command="x", words="", nonce=NONCE) + "\nand my own words",
        "before\n" + frame("a", command="x", words="", nonce=NONCE),
        f"[cortext {NONCE}] /x\na\n[end cortext {'0' * 32}]",
    ],
)
def test_as_typed_leaves_text_that_is_not_a_whole_frame(text: str) -> None:
    """What is no frame from end to end is what they wrote."""
    assert as_typed(text) == text


@given(st.text(alphabet='a@ \n/("`.') | st.text())
def test_without_mentions_leaves_no_file_mention(text: str) -> None:
    """An at sign stays only where it cannot begin a name, and nothing is lost."""
    calm = without_mentions(text)
    assert not re.search(r"(^|\s|[(\"'`])@", calm)
    assert unescape(calm).startswith(unescape(text))


def test_without_mentions_keeps_addresses_and_paths() -> None:
    text = "me@example.invalid in /srv/@app and pkg.@x"
    assert without_mentions(text) == text
