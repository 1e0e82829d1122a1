"""A person goes on in Claude Code with what a graph said."""

from pathlib import Path

import pytest

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.scenes import Model, agent, call, on
from tests.adapters.resumed_program import Person


def test_langgraph_thread_is_listed_found_and_resumed_in_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its owner; the call and its result are text there, and checkpoints are not."""
    person = Person(tmp_path, monkeypatch)
    model = Model(lines=[call("look_up", "c1", key="parcel 17"), "In Bergen."])
    said = {"messages": [("user", "Where is my parcel?")]}
    agent(CortextSaver(), model).invoke(said, on("order-17", user_id="ada"))
    assert person.listed("ada") == ["Where is my parcel?"]
    assert person.listed("bob") == []
    assert person.found("bergen", "ada") == {"order-17"}
    asked, (role, answered) = person.reopened("order-17")
    assert asked == ("user", "Where is my parcel?")
    assert role == "assistant"
    assert "look_up" in answered
    assert "parcel 17 is 42" in answered
    assert answered.endswith("In Bergen.")
