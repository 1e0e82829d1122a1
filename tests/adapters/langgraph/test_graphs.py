"""Real graphs with a fake model, kept by us."""

import asyncio
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph import MessagesState as TheirState
from langgraph.types import Command
from typing_extensions import TypedDict

from cortext.adapters.langgraph import CortextSaver, MessagesState
from cortext.stores.log import LogStore
from tests.adapters.langgraph.scenes import Model, agent, call, on, texts


def said(store: LogStore, id: str) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in store.load(id).messages]


@pytest.mark.parametrize("url", ["{}", "log:{}", "document:{}", "memory:", None])
def test_run_sees_messages_of_earlier_runs_in_every_store(url: str | None, tmp_path: Path) -> None:
    """Each run knows what was said in those before, in any store."""
    saver = CortextSaver(url and url.format(tmp_path / "kept"))
    graph = agent(saver, Model(lines=["one", "two"]))
    graph.invoke({"messages": [("user", "a")]}, on("t"))
    made = graph.invoke({"messages": [("user", "b")]}, on("t"))
    assert texts(made["messages"]) == ["a", "one", "b", "two"]
    if url != "memory:":
        saver.close()
        graph = agent(CortextSaver(url and url.format(tmp_path / "kept")), Model())
    assert texts(graph.get_state(on("t")).values["messages"]) == ["a", "one", "b", "two"]


def test_thread_is_readable_as_plain_session(tmp_path: Path) -> None:
    """What was said stands in a log that any store of ours reads, with calls, results, owner."""
    model = Model(lines=[call("look_up", "c1", key="x"), "it is 42"])
    graph = agent(CortextSaver(tmp_path), model)
    graph.invoke({"messages": [("user", "what is x?")]}, on("team/7", user_id="ann"))
    store = LogStore(tmp_path)
    [id] = store.list_session_ids()
    session = store.load(id)
    assert [message.role for message in session.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    asked, called, result, answer = session.messages
    assert (asked.content, answer.content) == ("what is x?", "it is 42")
    assert called.tool_calls == [{"id": "c1", "name": "look_up", "arguments": {"key": "x"}}]
    assert (result.tool_call_id, result.content) == ("c1", "x is 42")
    assert (session.owner, session.metadata["thread_id"]) == ("ann", "team/7")


def test_threads_are_listed_by_owner(tmp_path: Path) -> None:
    """Each owner finds their own threads, and checkpoints can be filtered by owner."""
    saver = CortextSaver(tmp_path)
    graph = agent(saver, Model())
    for owner in ("ann", "bob"):
        for number in range(2):
            config = on(f"{owner}-{number}", user_id=owner)
            graph.invoke({"messages": [("user", "hi")]}, config)
    assert saver.threads("ann") == ["ann-1", "ann-0"]
    assert saver.threads("ann", limit=1) == ["ann-1"]
    assert sorted(saver.threads()) == ["ann-0", "ann-1", "bob-0", "bob-1"]
    rows = list(saver.list(None, filter={"user_id": "bob"}))
    assert {row.config["configurable"]["thread_id"] for row in rows} == {"bob-0", "bob-1"}


def test_run_from_earlier_checkpoint_starts_branch(tmp_path: Path) -> None:
    """From an earlier checkpoint another branch begins; the conversation has both."""
    graph = agent(CortextSaver(tmp_path), Model(lines=["one", "two", "other"]))
    graph.invoke({"messages": [("user", "a")]}, on("t"))
    earlier = graph.get_state(on("t")).config
    graph.invoke({"messages": [("user", "b")]}, on("t"))
    made = graph.invoke({"messages": [("user", "c")]}, earlier)
    assert texts(made["messages"]) == ["a", "one", "c", "other"]
    assert texts(graph.get_state(on("t")).values["messages"]) == ["a", "one", "c", "other"]
    again = agent(CortextSaver(tmp_path), Model())
    states = {tuple(texts(s.values.get("messages", ()))) for s in again.get_state_history(on("t"))}
    assert {("a", "one", "b", "two"), ("a", "one", "c", "other")} <= states
    store = LogStore(tmp_path)
    assert [text for _, text in said(store, "t")] == ["a", "one", "b", "two", "c", "other"]


def test_nested_graph_resumes_after_interrupt_in_another_saver(tmp_path: Path) -> None:
    """A graph in a graph stops for a person, and goes on in another process' saver."""
    from langgraph.types import interrupt

    def build(place: Path) -> Any:
        inner: Any = StateGraph(MessagesState)
        inner.add_node("ask", lambda _: {"messages": [AIMessage(f"heard {interrupt('well?')}")]})
        inner.add_edge(START, "ask")
        outer: Any = StateGraph(MessagesState)
        outer.add_node("inner", inner.compile())
        outer.add_edge(START, "inner")
        return outer.compile(checkpointer=CortextSaver(place))

    build(tmp_path).invoke({"messages": [("user", "go")]}, on("t"))
    state = build(tmp_path).get_state(on("t"), subgraphs=True)
    assert state.tasks[0].state.next == ("ask",)
    made = build(tmp_path).invoke(Command(resume="yes"), on("t"))
    assert texts(made["messages"]) == ["go", "heard yes"]


def test_saver_serves_concurrent_asynchronous_runs(tmp_path: Path) -> None:
    """The same saver serves runs in an event loop, several at once."""

    async def run() -> list[Any]:
        async with CortextSaver.from_conn_string(f"log:{tmp_path}") as saver:
            graph = agent(saver, Model())
            turns = [graph.ainvoke({"messages": [("user", "a")]}, on(f"t{n}")) for n in range(5)]
            await asyncio.gather(*turns)
            return [row async for row in saver.alist(None)]

    rows = asyncio.run(run())
    assert len({row.config["configurable"]["thread_id"] for row in rows}) == 5
    with CortextSaver.from_conn_string(f"log:{tmp_path}") as saver:
        assert len(saver.threads()) == 5


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_delta_channel_round_trips_and_survives_prune(tmp_path: Path, durability: Any) -> None:
    """A channel of which only changes are written comes back whole, also after pruning."""
    from langgraph.channels.delta import DeltaChannel

    def joined(old: list[str], new: Any) -> list[str]:
        return [*old, *chain.from_iterable(new)]

    class State(TypedDict):
        rows: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=4)]

    def build() -> Any:
        builder: Any = StateGraph(State)
        builder.add_node("more", lambda state: {"rows": [f"n{len(state['rows'])}"]})
        builder.add_edge(START, "more")
        builder.add_edge("more", END)
        return builder.compile(checkpointer=CortextSaver(tmp_path))

    expected: list[str] = []
    for turn in range(7):
        made = build().invoke({"rows": [f"in{turn}"]}, on("t"), durability=durability)
        expected += [f"in{turn}", f"n{len(expected) + 1}"]
        assert made["rows"] == expected
    CortextSaver(tmp_path).prune(["t"])
    assert build().get_state(on("t")).values["rows"] == expected
    assert build().invoke({"rows": ["last"]}, on("t"))["rows"][-2:] == ["last", "n15"]


def test_messages_of_delta_channel_appear_in_conversation(tmp_path: Path) -> None:
    """The conversation has them too, although no checkpoint does."""
    from langgraph.channels.delta import DeltaChannel

    def joined(old: list[Any], new: Any) -> list[Any]:
        return [*old, *chain.from_iterable(new)]

    class State(TypedDict):
        messages: Annotated[list[Any], DeltaChannel(joined)]

    graph = agent(CortextSaver(tmp_path), Model(), State)
    for text in "ab":
        graph.invoke({"messages": [HumanMessage(text)]}, on("t"))
    spoken = ["a", "I was shown 1", "b", "I was shown 3"]
    assert texts(graph.get_state(on("t")).values["messages"]) == spoken
    assert [text for _, text in said(LogStore(tmp_path), "t")] == spoken


def test_run_continues_session_of_another_program(tmp_path: Path) -> None:
    """A program goes on with what was begun in a terminal tool, and with what was said there
    since."""
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

    begun = Session("t")
    begun.add_message_from_dict("user", "look at x")
    calls = [{"id": "c1", "name": "Read", "arguments": '{"path": "x"}'}]
    begun.add_message_from_dict("assistant", "I look", tool_calls=calls)
    begun.add_message_from_dict("user", "never mind")
    store = LogStore(tmp_path)
    store.save(begun)
    model = Model(lines=["I stop", "yes"])
    made = agent(CortextSaver(tmp_path), model).invoke({"messages": [("user", "thanks")]}, on("t"))
    assert texts(made["messages"])[0] == "look at x"
    assert texts(made["messages"])[-3:] == ["never mind", "thanks", "I stop"]
    assert made["messages"][1].tool_calls[0]["args"] == {"path": "x"}

    store.append("t", SessionMessage("user", "I was here"), SessionMessage("assistant", "indeed"))
    made = agent(CortextSaver(tmp_path), model).invoke({"messages": [("user", "so?")]}, on("t"))
    assert texts(made["messages"])[-5:] == ["I stop", "I was here", "indeed", "so?", "yes"]
    assert len(made["messages"]) == len(set(texts(made["messages"])))
    assert len(store.load("t").messages) == 9
    assert CortextSaver(tmp_path).threads() == ["t"]


def test_get_state_includes_messages_added_after_previous_read(tmp_path: Path) -> None:
    """A state that was only looked at does not hide what is said after."""
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

    store = LogStore(tmp_path)
    store.save(Session("t"))
    graph = agent(CortextSaver(tmp_path), Model())
    for count in (1, 2):
        store.append("t", SessionMessage("user", f"said {count}"))
        assert len(graph.get_state(on("t")).values["messages"]) == count
    graph.invoke({"messages": [("user", "on")]}, on("t"))
    states = [texts(one.values.get("messages", ())) for one in graph.get_state_history(on("t"))]
    assert states[-1] == ["said 1", "said 2"]
    assert states[0] == ["said 1", "said 2", "on", "I was shown 3"]


def test_delete_for_runs_removes_messages_of_run_from_all_files(tmp_path: Path) -> None:
    """A deleted run is gone from the checkpoints and from the conversation, for good."""
    saver = CortextSaver(tmp_path)
    graph = agent(saver, Model())
    graph.invoke({"messages": [("user", "stays")]}, {**on("t"), "metadata": {"run_id": "r1"}})
    graph.invoke({"messages": [("user", "secret")]}, {**on("t"), "metadata": {"run_id": "r2"}})
    saver.delete_for_runs(["r2"])
    assert texts(graph.get_state(on("t")).values["messages"]) == ["stays", "I was shown 1"]
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    assert b"stays" in left
    assert b"secret" not in left
    assert texts(graph.invoke({"messages": [("user", "on")]}, on("t"))["messages"])[-1] == (
        "I was shown 3"
    )
    saver.delete_thread("t")
    assert not list(tmp_path.rglob("*.jsonl"))


def test_run_continues_after_prune_in_every_saver(tmp_path: Path) -> None:
    """Only the latest checkpoint is left, whole, in this saver and in another."""
    saver, other = CortextSaver(tmp_path), CortextSaver(tmp_path)
    graph, second = agent(saver, Model()), agent(other, Model())
    for text in "abc":
        graph.invoke({"messages": [("user", text)]}, on("t"))
    before = texts(second.get_state(on("t")).values["messages"])
    saver.prune(["t"])
    assert len(list(other.list(on("t")))) == 1
    made = second.invoke({"messages": [HumanMessage("d")]}, on("t"))
    assert texts(made["messages"]) == [*before, "d", "I was shown 7"]
    with pytest.raises(ValueError, match="keep_latest"):
        saver.prune(["t"], strategy="some")


def test_saver_works_with_messages_state_of_langgraph(tmp_path: Path) -> None:
    """LangGraph's MessagesState needs nothing of ours."""
    graph = agent(CortextSaver(tmp_path), Model(), TheirState)
    made = graph.invoke({"messages": [("user", "a")]}, on("t"))
    assert texts(made["messages"]) == ["a", "I was shown 1"]
