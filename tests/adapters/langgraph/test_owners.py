"""Whose a thread is, who may run it, and what a run has of it."""

from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import MessagesState as TheirState

from cortext.adapters.langgraph import CortextSaver, MessagesState
from cortext.adapters.langgraph.langchain_messages import NO_RESULT
from cortext.adapters.langgraph.thread_conversation import Transcript
from cortext.errors import InvalidIdError, SessionOwnerError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.langgraph.scenes import Model, agent, call, on, texts


def test_thread_of_another_owner_is_refused_and_unchanged(tmp_path: Path) -> None:
    """By one sentence that does not say whose it is, and nothing is changed; a caller who names no
    owner has it."""
    said = {"messages": [("user", "private")]}
    agent(CortextSaver(tmp_path), Model()).invoke(said, on("t", user_id="ann"))
    files = sorted(tmp_path.rglob("t.jsonl"))
    before = [file.read_bytes() for file in files]
    model = Model()
    saver = CortextSaver(tmp_path)
    graph, bob = agent(saver, model), on("t", user_id="bob")
    for use in (
        lambda: graph.invoke(said, bob),
        lambda: graph.get_state(bob),
        lambda: graph.update_state(bob, said, as_node="model"),
        lambda: list(saver.list(bob)),
    ):
        with pytest.raises(SessionOwnerError, match=r"^session t belongs to another owner(\n|$)"):
            use()
    assert not model.seen
    assert [file.read_bytes() for file in files] == before
    assert len(graph.get_state(on("t")).values["messages"]) == 2
    assert len(graph.invoke(said, on("t", user_id="ann"))["messages"]) == 4


def test_thread_has_owner_from_first_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the run is ended before anything is in the conversation."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as ended:
        ended.setattr(Transcript, "tell", end)
        with pytest.raises(KeyboardInterrupt):
            CortextSaver(tmp_path).put(on("t", user_id="ann"), empty_checkpoint(), {}, {})
    saver = CortextSaver(tmp_path)
    assert saver.threads("ann") == ["t"]
    with pytest.raises(SessionOwnerError):
        saver.get_tuple(on("t", user_id="bob"))
    assert saver.get_tuple(on("t", user_id="ann")) is not None


def test_threads_lists_session_of_other_framework_after_first_run(tmp_path: Path) -> None:
    """As soon as a run has added to it, by its owner and under the name that it has there."""
    metadata = {"framework": "openai_agents", "session_id": "ann"}
    said = [SessionMessage("user", "begun elsewhere")]
    LogStore(tmp_path).save(Session("ann", owner="ann", messages=said, metadata=metadata))
    saver = CortextSaver(tmp_path)
    assert saver.threads("ann") == []
    agent(saver, Model()).invoke({"messages": [("user", "go on")]}, on("ann", user_id="ann"))
    assert saver.threads("ann") == ["ann"]


def test_run_refuses_empty_thread_id(tmp_path: Path) -> None:
    """Else all who forgot it would share one."""
    with pytest.raises(InvalidIdError, match="not a valid id: ''"):
        agent(CortextSaver(tmp_path), Model()).invoke({"messages": [("user", "a")]}, on(""))


@pytest.mark.parametrize("state", [MessagesState, TheirState])
def test_model_sees_own_result_for_each_call_with_reused_id(state: type, tmp_path: Path) -> None:
    """Two calls were cut off, and a later one with their id was answered: each has its own."""
    model = Model()
    graph = agent(CortextSaver(tmp_path), model, state)
    history = [
        ("user", "a"),
        call("look_up", "c1", key="x"),
        ("user", "b"),
        call("look_up", "c1", key="y"),
        ("user", "c"),
        call("look_up", "c1", key="z"),
        ToolMessage("sunny", tool_call_id="c1"),
        ("assistant", "d"),
    ]
    graph.update_state(on("t"), {"messages": history}, as_node="model")
    graph.invoke({"messages": [("user", "e")]}, on("t"))
    graph.invoke({"messages": [("user", "f")]}, on("t"))
    shown = ["a", "", NO_RESULT, "b", "", NO_RESULT, "c", "", "sunny", "d", "e"]
    assert texts(model.seen[0]) == shown
    assert texts(model.seen[1])[:11] == shown


def test_run_sees_messages_added_by_other_programs(tmp_path: Path) -> None:
    """After a run, a person goes on elsewhere: the next run has it in its state."""
    saver, model = CortextSaver(tmp_path), Model()
    agent(saver, model).invoke({"messages": [("user", "a")]}, on("t"))
    LogStore(tmp_path).append("t", SessionMessage("user", "from a terminal"))
    agent(saver, model).invoke({"messages": [("user", "b")]}, on("t"))
    assert texts(model.seen[1]) == ["a", "I was shown 1", "from a terminal", "b"]


def test_parallel_runs_branch_state_and_conversation_keeps_both(tmp_path: Path) -> None:
    """Of two that begin at one checkpoint the state has the last alone; the conversation has
    both."""
    saver = CortextSaver(tmp_path)
    graph = agent(saver, Model())
    begun = graph.update_state(on("t"), {"messages": [("user", "a")]}, as_node="model")
    for text in ("of one", "of another"):
        graph.update_state(begun, {"messages": [("user", text)]}, as_node="model")
    assert texts(graph.get_state(on("t")).values["messages"]) == ["a", "of another"]
    told = [message.content for message in LogStore(tmp_path).load("t").messages]
    assert told == ["a", "of one", "of another"]
