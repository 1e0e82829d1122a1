"""Clocks stand still and go back: nothing is lost by it, and nothing is mixed."""

import json

import pytest

from cortext.features.capture.bindings import bind
from cortext.features.capture.capture import capture
from tests.features.capture_bench import Bench


def say(bench: Bench, role: str, text: str, id: str, time: str) -> None:
    """As `Bench.say`, at any time."""
    message: dict[str, object] = {"role": role, "content": text}
    if role == "assistant":
        message |= {"id": f"msg_{id}", "content": [{"type": "text", "text": text}]}
    line = {"type": role, "uuid": id, "parentUuid": bench.tip, "timestamp": time}
    line |= {"sessionId": bench.session, "cwd": "/home/you/project", "message": message}
    bench.append(json.dumps(line).encode() + b"\n")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("after", [None, "2032-01-01T00:00:00Z"])
def test_capture_loses_no_message_when_clock_goes_back(
    claude_bench: Bench, after: str | None, whole: bool
) -> None:
    """Bound now, or converted while the clock was ahead: what comes next belongs to it."""
    claude_bench.bind(after)
    if not whole:
        claude_bench.capture()
    say(claude_bench, "user", "Earlier?", "c1", "2020-01-01T00:00:00.000Z")
    say(claude_bench, "assistant", "Earlier.", "c2", "2020-01-01T00:00:01.000Z")
    assert claude_bench.capture(whole=whole).new == 2
    assert claude_bench.said() == [["user", "Earlier?"], ["assistant", "Earlier."]]


@pytest.mark.parametrize("time", ["2020-01-01T00:00:00.000Z", "2031-01-01T00:00:01.000Z"])
def test_conversations_of_one_session_stay_separate_when_clock_goes_back(
    claude_bench: Bench, time: str
) -> None:
    """The second begins at an earlier time than the first ended, or at the same."""
    claude_bench.bind()
    say(claude_bench, "user", "First?", "c1", "2031-01-01T00:00:00.000Z")
    say(claude_bench, "assistant", "First.", "c2", "2031-01-01T00:00:01.000Z")
    second = claude_bench.begin("Another thing")
    claude_bench.bind(None, second)
    say(claude_bench, "user", "Second?", "c3", time)
    say(claude_bench, "assistant", "Second.", "c4", time)
    for whole in (False, True):
        capture(second.root, second.place, whole=whole)
        claude_bench.capture(whole=whole)
        assert claude_bench.said() == [
            *claude_bench.expected,
            ["user", "First?"],
            ["assistant", "First."],
        ]
        assert claude_bench.said(second) == [["user", "Second?"], ["assistant", "Second."]]


def test_capture_keeps_repeated_text_when_clock_goes_back(claude_bench: Bench) -> None:
    """Turn by turn with a clock that went back: no copy of one another."""
    claude_bench.bind()
    claude_bench.capture()
    for number, (role, text) in enumerate([("user", "yes"), ("assistant", "done")] * 2):
        say(claude_bench, role, text, f"c{number}", f"2020-01-01T00:00:0{number}.000Z")
        claude_bench.capture()
    claude_bench.capture(whole=True)
    assert claude_bench.said() == [
        *claude_bench.expected,
        *[["user", "yes"], ["assistant", "done"]] * 2,
    ]


def test_binding_falls_back_to_time_when_its_message_was_rewound(claude_bench: Bench) -> None:
    """The person went back to before it: its time tells where the conversation begins."""
    tip = claude_bench.tip
    claude_bench.say("user", "Left?", 1)
    claude_bench.say("assistant", "Left.", 2)
    claude_bench.bind(None)
    claude_bench.say("user", "Right?", 3, tip)
    claude_bench.say("assistant", "Right.", 4)
    claude_bench.capture(whole=True)
    assert claude_bench.said() == [["user", "Right?"], ["assistant", "Right."]]


def test_capture_does_not_read_session_after_binding_ended(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one more look what another conversation got cannot be its own."""
    from cortext.features.capture import capture as module

    claude_bench.bind()
    second = claude_bench.begin("Another thing")
    claude_bench.bind(None, second)
    claude_bench.capture()
    monkeypatch.setattr(module, "_read_delta", None)
    monkeypatch.setattr(module._Capture, "_reconcile", None)
    claude_bench.say("user", "Of the second.", 1)
    assert claude_bench.capture().new == 0


def test_binding_entry_records_previous_message_and_start_time(claude_bench: Bench) -> None:
    """An entry names the message before, when that was, and what the conversation had."""
    bind(claude_bench.bound, "claude", claude_bench.session, str(claude_bench.transcript))
    (entry,) = claude_bench.head()["native"]
    assert (entry["to"], entry["held"]) == ("", "")
    assert entry["from"]
    assert entry["since"].startswith("20")
