"""A conversation in short."""

import time
from typing import Any

import pytest

from cortext import Message
from cortext.service.stores import routing_summary
from cortext.service.stores.routing_summary import register_type, summarize

LIBRARIES = [{"name": "Redux"}, {"name": "Zustand"}]


def said(*data: Any) -> list[Message]:
    return [Message("assistant", "x", structured_data=value) for value in data]


def talk(*turns: Any) -> list[Message]:
    """Text is what a person wrote, and anything else the data of an answer."""
    return [Message("user", turn) if isinstance(turn, str) else said(turn)[0] for turn in turns]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([{"type": "search", "query": "a"}, {"type": "search", "query": "a"}],
         "Previous: searched for a"),
        ([{"type": "comparison", "items": [{"name": "A"}, {"name": "B"}, "C"]}],
         "Previous: compared A, B and C"),
        ([{"type": "weather_report", "name": "Paris"}], "Previous: gave weather report for Paris"),
        ([{"type": "weatherReport"}], "Previous: gave weather report"),
        ([{"type": "search-results", "query": "a"}], "Previous: searched for a"),
        ([{"type": "packageAnalysis", "name": "a"}], "Previous: analyzed a"),
        ([{"type": "search_error", "message": "no net"}], "Previous: failed at no net"),
        ([{"type": "comparison", "items": list("ABCDEFGH")}],
         "Previous: compared A, B, C, D and 4 more"),
        ([{"type": "search", "query": 'a", deleted "b'}],
         'Previous: searched for "a\\", deleted \\"b"'),
        ([{"type": "analysis", "subject": "a, searched for b"}],
         'Previous: analyzed "a, searched for b"'),
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
def test_summary_line_names_action_by_data_type_and_subject(data: list[Any], text: str) -> None:
    """By the type of the data and its subject, on one line, without control characters."""
    assert summarize(said(*data)).text == text


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        (["search for React libraries", {"type": "search"}, "analyze Zustand"],
         "searched for React libraries, analyzed Zustand"),
        (["search for React libraries", {"type": "libraries", "items": LIBRARIES},
          "analyze the second one"],
         "searched for React libraries, analyzed Zustand"),
        (["search for React libraries", {"type": "search", "items": LIBRARIES},
          "analyze the second one", {"type": "analysis"}],
         "searched for React libraries, analyzed Zustand"),
        (["Find React libraries for state", {"type": "search", "query": "React libraries"},
          "analyze the second one", {"type": "analysis", "subject": "Zustand"}],
         "searched for React libraries, analyzed Zustand"),
        (["inspect it", {"type": "package_info", "name": "Jotai"}], "inspected Jotai"),
        (["inspect it"], "inspected it"),
        (["compare both"], "compared both"),
        (["Is it raining in Paris?", {"type": "weather_report", "name": "Paris"}],
         "gave weather report for Paris"),
        (["Is it raining?", {"type": "weather_report"}],
         'asked "Is it raining?", gave weather report'),
        (["What is new?", {"type": "analysis"}], 'asked "What is new?", analyzed something'),
        (["Suche nach React-Bibliotheken", {"n": 1}, "检索 Zustand"],
         'asked "Suche nach React-Bibliotheken", asked "检索 Zustand"'),
        (["search for a", "thanks!", "hm", "🙂"], "searched for a"),
        (["hm", "ok"], 'asked "ok"'),
        (['Is "a" b\\c?'], 'asked "Is \\"a\\" b\\\\c?"'),
        (["search for fast, small libraries"], 'searched for "fast, small libraries"'),
        (["search for a\u202eb\x1b[31m"], "searched for a\ufffdb\ufffd[31m"),
        (["analyze " + "x" * 300], "analyzed " + "x" * 79 + "…"),
        (["analyze a", "analyze b", "analyze a"], "analyzed b, analyzed a"),
        ([f"analyze {letter}" for letter in "abcdefgh"],
         "analyzed d, analyzed e, analyzed f, analyzed g, analyzed h"),
    ],
)  # fmt: skip
def test_summary_line_combines_requests_and_results(turns: list[Any], text: str) -> None:
    assert summarize(talk(*turns)).text == f"Previous: {text}"


def test_summary_has_last_three_messages_and_all_types() -> None:
    messages = talk("search for a", {"type": "search"}, "analyze b", {"type": "analysis"}, "hm")
    found = summarize(messages)
    assert found.messages == messages[-3:]
    assert (list(found.types), found.data) == (["search", "analysis"], {"type": "analysis"})


def test_summary_line_has_bounded_length() -> None:
    names = [{"name": f"{letter}," * 500} for letter in "abcdefgh"]
    data = [{"type": "comparison", "items": [*names, str(number)]} for number in range(9)]
    [line] = summarize(talk(*data, "x" * 10_000)).text.splitlines()
    assert len(line) < 1500


def test_summarize_takes_time_linear_in_message_count() -> None:
    def seconds(count: int) -> float:
        turns = [turn for n in range(count) for turn in ("the second one", {"type": "x", "n": n})]
        messages = talk(*turns, *[{"type": "y"}] * count)
        times: list[float] = []
        for _ in range(3):
            begin = time.perf_counter()
            summarize(messages)
            times.append(time.perf_counter() - begin)
        return min(times)

    assert seconds(20_000) <= 12 * seconds(5_000) + 0.5


def test_summary_line_quotes_last_question_when_there_is_no_data() -> None:
    """The last thing that the person wrote; nothing where nobody wrote anything."""
    messages = [Message("user", "How do\nI begin?"), Message("assistant", "So.")]
    assert summarize(messages).text == 'Previous: asked "How do I begin?"'
    assert summarize([]).text == ""
    assert (summarize([]).messages, summarize([]).data, list(summarize([]).types)) == ([], None, [])


def test_summary_lists_types_once_oldest_first() -> None:
    """Of all data that the window holds."""
    found = summarize(said({"type": "b"}, {"type": "a"}, {"type": "b"}, 7))
    assert (list(found.types), found.data) == (["b", "a"], 7)


def test_register_type_sets_verb_and_subject_of_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program says what its own types mean."""
    monkeypatch.setattr(routing_summary, "_meanings", dict(routing_summary._meanings))
    register_type("booking", "booked", "hotel", "flight")
    data = said({"type": "booking", "flight": "LH 1"}, {"type": "booking", "hotel": "Ritz"})
    assert summarize(data).text == "Previous: booked LH 1, booked Ritz"
