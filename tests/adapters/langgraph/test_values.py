"""What is put comes back as it was, is shared, and constructs nothing that it must not."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from cortext.adapters.langgraph import CortextSaver
from cortext.adapters.langgraph.langchain_messages import to_message, to_record
from cortext.errors import CheckpointTypeError
from cortext.stores.log import LogStore
from tests.adapters.langgraph.checkpoint_values import VALUES, got, put
from tests.adapters.langgraph.scenes import Model, agent, on, texts

MESSAGES: list[AnyMessage] = [
    HumanMessage("plain", id="1"),
    HumanMessage([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}],
                 id="2", name="ann"),
    AIMessage("said", id="3", response_metadata={"model": "m"}, usage_metadata={
        "input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
    AIMessage("", id="4", tool_calls=[{"id": "c", "name": "f", "args": {"x": [1, None, 2.5]}}],
              invalid_tool_calls=[{"id": "d", "name": "g", "args": "{", "error": "no"}]),
    ToolMessage("done", id="5", tool_call_id="c", artifact={"rows": [1]}, status="success"),
    ToolMessage([{"type": "text", "text": "b"}], id="6", tool_call_id="d", status="error"),
    SystemMessage("be \u2028 kind \U0001f600 \x00", id="7", additional_kwargs={"k": {"n": None}}),
    FunctionMessage("f", name="fn", id="8"),
    ChatMessage("c", role="critic", id="9"),
    AIMessageChunk("part", id="10"),
    HumanMessage("", id="11"),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(VALUES))
def test_channel_values_and_writes_round_trip(name: str, tmp_path: Path) -> None:
    """In a channel and in a write, as LangGraph's serializer alone would give them back."""
    serde = JsonPlusSerializer()
    expected = serde.loads_typed(serde.dumps_typed(VALUES[name]))
    saver = CortextSaver(tmp_path)
    saver.put_writes(put(saver, {"c": VALUES[name]}), [("w", VALUES[name])], "task")
    value = got(tmp_path)["c"]
    assert (repr(value), type(value)) == (repr(expected), type(expected))
    found = CortextSaver(tmp_path).get_tuple(on("t"))
    assert found is not None
    assert repr(found.pending_writes) == repr([("task", "w", expected)])


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: f"{one.type}-{one.id}")
def test_messages_round_trip_through_checkpoint_and_conversation(
    message: AnyMessage, tmp_path: Path
) -> None:
    """From the checkpoint, from this saver's memory, and from the conversation alone."""
    saver = CortextSaver(tmp_path)
    put(saver, {"messages": [message]})
    expected = json.dumps(message.model_dump())
    for values in (got(tmp_path), saver.get_tuple(on("t")).checkpoint["channel_values"]):  # type: ignore[union-attr]
        assert json.dumps(values["messages"][0].model_dump()) == expected
        assert type(values["messages"][0]) is type(message)
    [record] = LogStore(tmp_path).load("t").messages
    again = to_message(record)
    assert json.dumps(again.model_dump()) == expected
    assert to_record(again).to_dict() | {"timestamp": 0} == record.to_dict() | {"timestamp": 0}


def test_message_changed_in_place_is_stored_again(tmp_path: Path) -> None:
    """A message that a program changes is stored anew, and the one before stays as it was."""
    saver = CortextSaver(tmp_path)
    messages = [
        HumanMessage("a", id="1"),
        AIMessage("b", id="2", additional_kwargs={"k": {"n": 1}}),
    ]
    first = put(saver, {"messages": messages})
    messages[1].additional_kwargs["k"]["n"] = 2
    messages[0].content = "A"
    put(saver, {"messages": messages}, first)
    now = got(tmp_path)["messages"]
    assert (now[0].content, now[1].additional_kwargs) == ("A", {"k": {"n": 2}})
    before = CortextSaver(tmp_path).get_tuple(first)
    assert before is not None
    assert texts(before.checkpoint["channel_values"]["messages"]) == ["a", "b"]
    told = [(one.id, one.content) for one in LogStore(tmp_path).load("t").messages]
    assert [text for _, text in told] == ["a", "b", "A", "b"]
    assert len({id for id, _ in told}) == 4


def test_messages_without_ids_are_stored_once_per_occurrence(tmp_path: Path) -> None:
    """What a graph keeps as dicts, or without ids, is in the conversation each time it was said."""
    saver, config = CortextSaver(tmp_path), None
    rows: list[Any] = [{"role": "user", "content": "yes"}, AIMessage("ok"), {"n": 1}]
    for count in range(1, 4):
        config = put(saver, {"messages": rows * count}, config)
    told = [(one.role, one.content) for one in LogStore(tmp_path).load("t").messages]
    assert told == [("user", "yes"), ("assistant", "ok")] * 3
    put(CortextSaver(tmp_path), {"messages": rows * 2}, config)
    assert len(LogStore(tmp_path).load("t").messages) == 6


def test_changing_returned_values_does_not_change_saver(tmp_path: Path) -> None:
    """Values that were handed out are not those that are kept."""
    saver = CortextSaver(tmp_path)
    put(saver, {"messages": [HumanMessage("a", id="1")], "rows": [{"n": [1]}]})
    for _ in range(2):
        found = saver.get_tuple(on("t"))
        assert found is not None
        values = found.checkpoint["channel_values"]
        assert texts(values["messages"]) == ["a"]
        assert values["rows"] == [{"n": [1]}]
        values["messages"][0].content = "changed"
        values["rows"][0]["n"].append(2)


@pytest.mark.parametrize("kind", ["messages", "strings", "small", "windowed"])
def test_checkpoint_files_grow_linearly_with_puts(kind: str, tmp_path: Path) -> None:
    """Twice the turns take about twice the bytes: no checkpoint holds the history again."""

    def size(turns: int) -> int:
        place = tmp_path / str(turns)
        saver = CortextSaver(place)
        config, rows = None, []
        for turn in range(turns):
            made: Any = {
                "strings": f"{turn} said " * 20,
                "small": {"n": turn},
            }.get(kind, HumanMessage(f"{turn} said " * 20, id=str(turn)))
            rows = [*rows, made]
            shown = rows[-10:] if kind == "windowed" else rows
            config = put(saver, {"messages": shown}, config)
        assert len(got(place)["messages"]) == len(shown)
        return sum(path.stat().st_size for path in place.rglob("*.jsonl"))

    once, twice = size(100), size(200)
    assert 1.8 < twice / once < 2.2, (once, twice)


def test_checkpoint_files_grow_linearly_with_graph_turns(tmp_path: Path) -> None:
    """The same for a graph that answers: 60 turns take about twice the bytes of 30."""

    def size(turns: int) -> int:
        graph = agent(CortextSaver(tmp_path / str(turns)), Model())
        for turn in range(turns):
            graph.invoke({"messages": [("user", f"{turn} said " * 20)]}, on("t"))
        return sum(path.stat().st_size for path in (tmp_path / str(turns)).rglob("*.jsonl"))

    assert 1.8 < size(60) / size(30) < 2.2


def test_encrypting_serializer_leaves_no_plain_text_in_files(tmp_path: Path) -> None:
    """Then nothing that was said can be read in any file, and the thread works."""

    class Cipher:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "flip", bytes(255 - byte for byte in plaintext)

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return bytes(255 - byte for byte in ciphertext)

    serde = EncryptedSerializer(Cipher())
    graph = agent(CortextSaver(tmp_path, serde=serde), Model())
    graph.invoke({"messages": [("user", "my secret")]}, on("t"))
    assert texts(got(tmp_path, serde)["messages"]) == ["my secret", "I was shown 1"]
    for path in tmp_path.rglob("*.jsonl"):
        assert b"secret" not in path.read_bytes()


def test_pickle_record_raises_checkpoint_type_error(tmp_path: Path) -> None:
    """A record that says pickle constructs nothing: reading it is an error."""
    saver = CortextSaver(tmp_path)
    put(saver, {"c": b"x" * 50})
    [path] = (tmp_path / "checkpoints").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'["bytes",', b'["pickle",'))
    with pytest.raises(CheckpointTypeError, match="kind pickle is not allowed"):
        got(tmp_path)


def test_torn_last_line_is_ignored_and_thread_continues(tmp_path: Path) -> None:
    """What was not written to its end was never acknowledged; what was put before is there."""
    saver = CortextSaver(tmp_path)
    config = put(saver, {"c": "one"})
    [path] = (tmp_path / "checkpoints").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"type":"turn","role":"system","content":"","structured')
    assert got(tmp_path) == {"c": "one"}
    put(CortextSaver(tmp_path), {"c": "two"}, config)
    assert got(tmp_path) == {"c": "two"}
    found = saver.get_tuple(on("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"c": "two"}
    assert found.parent_config == config


def test_damaged_checkpoint_loses_no_message(tmp_path: Path) -> None:
    """A checkpoint that cannot be read any more takes no message with it: the next run has all
    that was said, and the lines after the damage are still used."""
    graph = agent(CortextSaver(tmp_path), Model())
    for text in ("a", "b", "c"):
        graph.invoke({"messages": [("user", text)]}, on("t"))
    before = texts(graph.get_state(on("t")).values["messages"])
    [path] = (tmp_path / "checkpoints").glob("*.jsonl")
    lines = path.read_bytes().split(b"\n")
    puts = [at for at, line in enumerate(lines) if b'"structured_data":{"put"' in line]
    lines[puts[3]] = b"\0" * len(lines[puts[3]])
    path.write_bytes(b"\n".join(lines))
    graph = agent(CortextSaver(tmp_path), Model())
    made = graph.invoke({"messages": [("user", "d")]}, on("t"))
    assert texts(made["messages"]) == [*before, "d", "I was shown 7"]
    again = agent(CortextSaver(tmp_path), Model()).get_state(on("t"))
    assert texts(again.values["messages"]) == texts(made["messages"])


@pytest.mark.parametrize("times", [1, 2])
def test_put_stays_complete_when_parent_is_pruned_meanwhile(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process prunes just before, or also just after, a checkpoint is added to one that is
    gone then: it is put whole, and what a task wrote as well."""
    saver = CortextSaver(tmp_path)
    said = [HumanMessage("a" * 50, id="1"), AIMessage("b" * 50, id="2")]
    first = put(saver, {"messages": said[:1], "rows": ["r" * 50]})
    put(saver, {"rows": ["latest"]}, first)
    threads = saver._threads  # pyright: ignore[reportPrivateUsage]
    append, left = threads.append, [times]

    def late(*arguments: Any) -> None:
        append(*arguments) if left[0] == 1 and times == 2 else None
        if left[0]:
            left[0] -= 1
            CortextSaver(tmp_path).prune(["t"])
        append(*arguments)

    monkeypatch.setattr(threads, "append", late)
    third = put(saver, {"messages": said}, first)
    left[0] = times
    saver.put_writes(third, [("rows", ["r" * 50])], "task")
    found = CortextSaver(tmp_path).get_tuple(third)
    assert found is not None
    assert texts(found.checkpoint["channel_values"]["messages"]) == ["a" * 50, "b" * 50]
    assert found.pending_writes == [("task", "rows", ["r" * 50])]


def test_get_tuple_refuses_config_without_thread_id(tmp_path: Path) -> None:
    """One sentence says what is missing."""
    with pytest.raises(ValueError, match="thread_id"):
        CortextSaver(tmp_path).get_tuple({"configurable": {}})
