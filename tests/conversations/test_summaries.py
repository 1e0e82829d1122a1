"""A conversation in short."""

from typing import Any

import pytest

from cortext import Message
from cortext.conversations import summaries
from cortext.conversations.summaries import register_type, summarize


def said(*data: Any) -> list[Message]:
    return [Message("assistant", "x", structured_data=value) for value in data]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([{"type": "search", "query": "a"}, {"type": "search", "query": "a"}],
         "Previous: searched for a"),
        ([{"type": "comparison", "items": [{"name": "A"}, {"name": "B"}, "C"]}],
         "Previous: compared A, B and C"),
        ([{"type": "weather_report", "name": "Paris"}], "Previous: gave weather report for Paris"),
        ([{"type": "weather_report"}], "Previous: gave weather report"),
        ([{"type": "analysis"}], "Previous: analyzed something"),
        ([{"type": "analysis", "subject": "two\nlines \x1b[31m"}],
         "Previous: analyzed two lines \ufffd[31m"),
        ([{"no": "type"}, [1, 2], "text", {"type": 7}], ""),
        ([{"type": "search", "query": "x" * 200}], "Previous: searched for " + "x" * 79 + "…"),
        ([{"type": "search", "query": str(n)} for n in range(8)],
         "Previous: " + ", ".join(f"searched for {n}" for n in range(3, 8))),
    ],
)  # fmt: skip
def test_the_line_says_what_was_done(data: list[Any], text: str) -> None:
    """By the type of the data and its subject, on one line, without control characters."""
    assert summarize(said(*data)).text == text


def test_without_data_the_line_says_what_was_asked() -> None:
    """The last thing that the person wrote; nothing where nobody wrote anything."""
    messages = [Message("user", "How do\nI begin?"), Message("assistant", "So.")]
    assert summarize(messages).text == 'Previous: asked "How do I begin?"'
    assert summarize([]).text == ""
    assert (summarize([]).messages, summarize([]).data, list(summarize([]).types)) == ([], None, [])


def test_types_are_listed_once_oldest_first() -> None:
    """Of all data that the window holds."""
    found = summarize(said({"type": "b"}, {"type": "a"}, {"type": "b"}, 7))
    assert (list(found.types), found.data) == (["b", "a"], 7)


def test_a_type_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program says what its own types mean."""
    monkeypatch.setattr(summaries, "_deeds", dict(summaries._deeds))
    register_type("booking", "booked", "hotel", "flight")
    data = said({"type": "booking", "flight": "LH 1"}, {"type": "booking", "hotel": "Ritz"})
    assert summarize(data).text == "Previous: booked LH 1, booked Ritz"
