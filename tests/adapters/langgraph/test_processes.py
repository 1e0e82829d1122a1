"""Several processes on one thread, and processes that die."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from cortext.adapters.langgraph import CortextSaver
from cortext.adapters.langgraph.langchain_messages import NO_RESULT
from cortext.features.doctor.check_logs import check_log
from cortext.stores.log import LogStore
from cortext.stores.store_registry import open_session_store
from tests.adapters.children import FORK, all_do, dies, start
from tests.adapters.langgraph.scenes import Model, agent, call, on, texts


def write(place: Path, name: str, count: int) -> None:
    """Add so many messages, and note each that is acknowledged."""
    graph = agent(CortextSaver(place), Model())
    with (place.parent / f"{name}.txt").open("a", encoding="utf-8") as noted:
        for number in range(count):
            said = {"messages": [("user", f"{name}-{number}")]}
            graph.update_state(on("t"), said, as_node="model")
            print(f"{name}-{number}", file=noted, flush=True)


def test_eight_processes_write_to_one_thread_without_loss(tmp_path: Path) -> None:
    """What was acknowledged is there, in the checkpoints and in the conversation; no errors."""
    place = tmp_path / "kept"
    all_do(write, *((place, f"w{n}", 8) for n in range(8)))
    acknowledged = {line for path in tmp_path.glob("*.txt") for line in path.read_text().split()}
    assert len(acknowledged) == 64
    told = [message.content for message in LogStore(place).load("t").messages]
    assert sorted(told) == sorted(acknowledged)
    history = agent(CortextSaver(place), Model()).get_state_history(on("t"))
    states = list(history)
    assert {text for state in states for text in texts(state.values["messages"])} == acknowledged
    assert len(states) == 64


def prune_until(place: Path, done: Any) -> None:
    saver = CortextSaver(place)
    while not done.is_set():
        saver.prune(["t"])


def test_prune_during_writes_loses_no_message(tmp_path: Path) -> None:
    """A checkpoint whose parent is taken away before it is put is whole all the same."""
    place, done = tmp_path / "kept", FORK.Event()
    writers = [FORK.Process(target=write, args=(place, f"w{n}", 12)) for n in range(3)]
    pruner = FORK.Process(target=prune_until, args=(place, done))
    for child in (pruner, *writers):
        child.start()
    for child in writers:
        child.join(100)
    done.set()
    pruner.join(60)
    assert [child.exitcode for child in (pruner, *writers)] == [0] * 4
    acknowledged = {line for path in tmp_path.glob("*.txt") for line in path.read_text().split()}
    told = [message.content for message in LogStore(place).load("t").messages]
    assert sorted(told) == sorted(acknowledged)
    # Each writer goes on from the latest, so the one that was last has its own last message in it.
    kept = texts(agent(CortextSaver(place), Model()).get_state(on("t")).values["messages"])
    assert kept[-1] in {f"w{n}-11" for n in range(3)}


def test_acknowledged_checkpoints_survive_kill_of_process(tmp_path: Path) -> None:
    """kill -9 at any moment: what was acknowledged is there, and the thread goes on."""
    child = start("langgraph", "write_until_killed", str(tmp_path))
    assert child.stdout is not None
    acknowledged = [child.stdout.readline().strip() for _ in range(12)]
    child.kill()
    acknowledged += child.communicate(timeout=60)[0].split("\n")[:-1]
    graph = agent(CortextSaver(tmp_path), Model())
    kept = texts(graph.get_state(on("t")).values["messages"])
    assert kept[: len(acknowledged)] == acknowledged
    made = graph.invoke({"messages": [("user", "on")]}, on("t"))
    assert texts(made["messages"]) == [*kept, "on", f"I was shown {len(kept) + 1}"]
    # A kill between the two left the conversation behind by one; it caught up.
    told = [message.content for message in LogStore(tmp_path).load("t").messages]
    assert told == texts(made["messages"])


def test_interrupted_call_runs_again_after_crash(tmp_path: Path) -> None:
    """kill -9 in a tool: a run without input goes on at the call, and the model sees its result."""
    dies("langgraph", "begin_and_crash", tmp_path)
    model = Model()
    made = agent(CortextSaver(tmp_path), model).invoke(None, on("t"))
    assert texts(made["messages"]) == ["do it", "", "x is mended", "I was shown 3"]


def test_interrupted_call_runs_again_after_doctor_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result that doctor writes into the conversation is for those who read that: the thread
    still does the call, and no model is shown it."""
    dies("langgraph", "begin_and_crash", tmp_path)
    monkeypatch.setattr("cortext.features.doctor.salvage.missing_tool_results.RESTS", timedelta(0))
    mend = check_log(str(tmp_path), "t").mend
    assert mend is not None
    mend.do()
    assert LogStore(tmp_path).load("t").messages[-1].role == "tool"
    model = Model()
    graph = agent(CortextSaver(tmp_path), model)
    made = graph.invoke(None, on("t"))
    assert texts(made["messages"]) == ["do it", "", "x is mended", "I was shown 3"]
    graph.invoke({"messages": [("user", "go on")]}, on("t"))
    assert texts(model.seen[-1])[:3] == ["do it", "", "x is mended"]


def test_model_is_told_of_interrupted_call_when_user_continues(tmp_path: Path) -> None:
    """kill -9 in a tool, then a person says something else: the model sees a sentence in the place
    of the result, in this run and in the next."""
    dies("langgraph", "begin_and_crash", tmp_path)
    model = Model()
    graph = agent(CortextSaver(tmp_path), model)
    graph.invoke({"messages": [("user", "what now?")]}, on("t"))
    assert texts(model.seen[0]) == ["do it", "", NO_RESULT, "what now?"]
    graph = agent(CortextSaver(tmp_path), model)
    graph.invoke({"messages": [("user", "and now?")]}, on("t"))
    assert texts(model.seen[1])[:4] == ["do it", "", NO_RESULT, "what now?"]
    told = [message.content for message in LogStore(tmp_path).load("t").messages]
    assert NO_RESULT not in told


def test_call_without_result_in_history_gets_error_result(tmp_path: Path) -> None:
    """Whatever put it there, and with LangGraph's own state: the next run works."""
    from langgraph.graph import MessagesState as TheirState

    model = Model()
    graph = agent(CortextSaver(tmp_path), model, TheirState)
    broken = [("user", "a"), call("look_up", "c1", key="x"), ("user", "b"), ("assistant", "c")]
    graph.update_state(on("t"), {"messages": broken}, as_node="model")
    made = graph.invoke({"messages": [("user", "d")]}, on("t"))
    assert texts(model.seen[0]) == ["a", "", NO_RESULT, "b", "c", "d"]
    [result] = [one for one in made["messages"] if isinstance(one, ToolMessage)]
    assert (result.tool_call_id, result.status) == ("c1", "error")


def test_pending_approval_survives_crash_of_process(tmp_path: Path) -> None:
    """A run that waits for a person is approved in a new process after kill -9; meanwhile the head
    of the conversation says what it waits for."""
    dies("langgraph", "wait_and_crash", tmp_path)
    pending = LogStore(tmp_path).head("t").pending
    assert [one["value"] for one in pending["interrupts"]] == [{"pay": 7}]
    state = agent(CortextSaver(tmp_path), Model()).get_state(on("t"))
    assert pending["interrupts"][0]["id"] == state.interrupts[0].id
    child = start("langgraph", "agree", str(tmp_path))
    output, errors = child.communicate(timeout=60)
    assert (output.strip(), child.returncode) == ("paid 7", 0), errors
    assert LogStore(tmp_path).head("t").pending is None


@pytest.mark.parametrize("kind", ["log", "document"])
def test_approval_by_another_saver_clears_pending_interrupt(kind: str, tmp_path: Path) -> None:
    """Two savers that both know the thread: one asks, the other goes on, and nobody waits."""
    url = f"{kind}:{tmp_path}"
    store = open_session_store(url)
    model = Model(lines=["hello", "again", call("pay", "c1", amount=7)])
    one, other = agent(CortextSaver(url), model), agent(CortextSaver(url), model)
    for graph in (one, other, one):
        graph.invoke({"messages": [("user", "hi")]}, on("t"))
    assert store.load("t").pending["interrupts"][0]["value"] == {"pay": 7}
    made = other.invoke(Command(resume="no"), on("t"))
    assert made["messages"][-2].content == "refused"
    assert store.load("t").pending is None


@pytest.mark.parametrize("line", range(1, 6))
def test_damaged_checkpoint_line_hides_no_message_from_model(line: int, tmp_path: Path) -> None:
    """Whichever it is: what was said before it and after it is in the conversation."""
    graph = agent(CortextSaver(tmp_path), Model())
    for said in ("first", "second"):
        graph.invoke({"messages": [("user", said)]}, on("t"), durability="sync")
    path = tmp_path / "checkpoints/t.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[line] = lines[line][: len(lines[line]) // 2]
    path.write_bytes(b"\n".join(lines))
    model = Model()
    graph = agent(CortextSaver(tmp_path), model)
    graph.invoke({"messages": [("user", "third")]}, on("t"))
    shown = ["first", "I was shown 1", "second", "I was shown 3", "third"]
    assert texts(model.seen[0]) == shown
