"""A conversation's own sentences say in one line what it is about."""

import json
import unicodedata
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.model.extractive_summary import LONGEST, digest
from cortext.model.message import Role, SessionMessage

CONVERSATIONS = Path(__file__).parent / "conversations"
EXPECTED = json.loads((CONVERSATIONS / "expected.json").read_text(encoding="utf-8"))


def said(*contents: str, role: Role = "user") -> list[SessionMessage]:
    return [SessionMessage(role, content) for content in contents]


def test_every_conversation_file_has_expected_summary() -> None:
    """Twenty of them, each with its line."""
    names = sorted(path.stem for path in CONVERSATIONS.glob("[0-9]*.json"))
    assert (names, len(names)) == (sorted(EXPECTED), 20)


@pytest.mark.parametrize("name", EXPECTED)
def test_summary_of_conversation_matches_expected_line(name: str) -> None:
    """As a person would want to be reminded of it."""
    records = json.loads((CONVERSATIONS / f"{name}.json").read_text(encoding="utf-8"))
    assert digest([SessionMessage(**record) for record in records]) == EXPECTED[name]


RECORDED = Path(__file__).parent / "recorded"
CAPTURED = json.loads((RECORDED / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_summary_of_recorded_conversation_matches_expected_line(name: str) -> None:
    """The same ones as they were had in the real tools, and read from their transcripts."""
    recorded = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    messages = [SessionMessage(**record) for record in recorded["messages"]]
    assert digest(messages) == CAPTURED[name]


@pytest.mark.parametrize(
    ("messages", "line"),
    [
        ([], ""),
        (said("", " \n\t"), ""),
        (said("rules", role="system") + said("output", role="tool"), ""),
        (said("/workspace.stop"), ""),
        (said("\u202e\u200b\ud800\x00"), ""),
        (said("fix\x00 the\u202e login\ud83d\nbug"), "Fix the login."),
        (said("Is it e.g. the cache? It fails."), "Is it e.g. the cache?"),
        (said("thanks, now fix the tests", "thanks!"), "Fix the tests."),
        (said("Hello.", role="assistant"), "Hello."),
    ],
)
def test_summary_omits_empty_and_invisible_text(messages: list[SessionMessage], line: str) -> None:
    """Nothing said gives nothing; what does not show is not shown."""
    assert digest(messages) == line


def test_answered_question_is_not_reported_open() -> None:
    """A reply answers it, a question in return or a word of thanks does not."""
    question = SessionMessage("user", "Which port does the proxy use?")
    answer = SessionMessage("assistant", "It listens on port 8080.")
    asked = SessionMessage("assistant", "Should I change the port?")
    thanks = SessionMessage("user", "thanks, I'll think about it")
    lines = [digest([question, *rest]) for rest in ([answer], [asked], [asked, thanks])]
    opened = "Which port does the proxy use? Open: Should I change the port?"
    assert lines == ["Which port does the proxy use?", opened, opened]


def test_summary_keeps_only_last_decision() -> None:
    """What was decided before it does not, nor what is not decided yet."""
    talk = said(
        "Which database for the shop?", "Let's go with MySQL.", "No, we decided on Postgres."
    )
    talk += said("I have not decided on the region.")
    assert "We decided on Postgres." in digest(talk)


@pytest.mark.parametrize("unit", ["e\u0301", "क्षि", "👍🏽", "あ゙"])
@pytest.mark.parametrize("limit", range(1, 40))
def test_cut_summary_keeps_combined_characters_whole(unit: str, limit: int) -> None:
    """Nothing that belongs to the character before it is cut off from it."""
    line = digest(said(unit * 100), limit)
    kept = line.removesuffix("…")
    assert len(line) <= limit
    following = (unit * 100)[len(kept)]
    assert (unicodedata.category(following)[0] == "M", "🏻" <= following <= "🏿") == (False, False)


# Pieces that the rules look at, in any order, besides any text at all.
PIECES = """? . ! 。 ؟ । ``` ~~~ | > - # ** ` [a](b) <b> <system-reminder> https:// /cmd { ; \x1b[1m
let's go with we decided decision: open question thanks hi ok could you please help tomorrow"""
texts = st.one_of(
    st.text(st.characters()),
    st.lists(st.sampled_from([*PIECES.split(" "), "\n", " ", "word", "日本語", "\ud800"])).map(
        " ".join
    ),
    st.lists(st.sampled_from([*PIECES.split(), "\n", "x", "é", "\u0301"])).map("".join),
)
messages = st.lists(st.builds(SessionMessage, st.sampled_from(get_args(Role)), texts), max_size=8)


@given(messages, st.one_of(st.just(LONGEST), st.integers(-3, 500)))
def test_any_conversation_gives_one_printable_line_within_limit(
    talk: list[SessionMessage], limit: int
) -> None:
    """At most as long as asked, on one line, without what does not show; always the same."""
    line = digest(talk, limit)
    assert len(line) <= max(limit, 0)
    assert (line.isprintable(), line.strip(), line) == (True, line, digest(talk, limit))


@pytest.mark.parametrize(
    "unit", ["x", "word ", "日", "?", "! ", "'", "[", "<", "a\n", "```\n", "\u0301", "\x1b[", "- "]
)
def test_summary_of_huge_messages_reads_only_their_ends(unit: str) -> None:
    """Of 5 MB only the ends are read; in a pattern's worst case too."""
    long = unit * (5_000_000 // len(unit))
    line = digest([*said("Why is the build slow?", long), *said(long, role="assistant")])
    assert (line.startswith("Why is the build slow?"), len(line) <= LONGEST) == (True, True)


def test_request_after_long_paste_is_found() -> None:
    """People put the question under the log."""
    log = "2025-11-18T09:14:02Z WARN upstream timed out\n" * 100_000
    line = digest(said(f"{log}\nWhy does the upstream time out every night?"))
    assert line == "Why does the upstream time out every night?"
