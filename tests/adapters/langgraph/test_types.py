"""Types in checkpoints: only allowed ones are written and read, and stored data runs no code."""

import json
import os
import pickle
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import ormsgpack
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from cortext.adapters.langgraph import CortextSaver
from cortext.adapters.session_log import SessionLog, inner_store
from cortext.errors import CheckpointTypeError
from tests.adapters.langgraph.checkpoint_values import got, put
from tests.adapters.langgraph.scenes import Model, agent, on, texts
from tests.service.stores.conftest import postgres_server as postgres_server

_spaces = count()


class Plan(BaseModel):
    steps: list[str]


@dataclass
class Step:
    name: str


class Color(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int


OWN: list[Any] = [Plan(steps=["a"]), Step("b"), Color.RED, Point(1), [Step("c")], {"k": Point(2)}]


class Moment(datetime):
    """A type that LangGraph packs with a method, and does not make again."""


class PlanState(TypedDict):
    plan: Plan


@pytest.fixture(params=["files", "document", "redis", "postgres"])
def kept_at(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Where threads are kept: files, or a real server."""
    if request.param == "files":
        return tmp_path / "kept"
    if request.param == "document":
        return f"document:{tmp_path}/kept"
    server: Any = request.getfixturevalue(f"{request.param}_server")
    return f"{server.url}/types{os.getpid()}-{next(_spaces)}"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that stored data makes when it runs."""
    return tmp_path / "was-run"


def packed(code: int, *inner: Any) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(inner)))


def nested(code: int, data: bytes) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, data))


class Touch:
    """A pickle that runs a command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


def in_send(call: ormsgpack.Ext) -> bytes:
    inner = ormsgpack.packb(("langgraph.types", "Send", ("node", {"deep": [call]})))
    return nested(1, inner)


def constructor(version: int, marker: Path) -> bytes:
    id = ["os", "system"]
    made = {"lc": version, "type": "constructor", "id": id, "args": [f"touch {marker}"]}
    return json.dumps([made]).encode()


HOSTILE: dict[str, Callable[[Path], tuple[str, bytes]]] = {
    "one-argument": lambda at: ("msgpack", packed(0, "os", "system", f"touch {at}")),
    "arguments": lambda at: ("msgpack", packed(1, "os", "system", (f"touch {at}",))),
    "named-arguments": lambda at: (
        "msgpack",
        packed(2, "subprocess", "Popen", {"args": ["touch", str(at)]}),
    ),
    "method": lambda at: ("msgpack", packed(3, "pathlib", "Path", str(at), "touch")),
    "pydantic-v1": lambda at: (
        "msgpack",
        packed(4, "subprocess", "Popen", {"args": ["touch", str(at)]}),
    ),
    "pydantic-v2": lambda at: (
        "msgpack",
        packed(5, "subprocess", "Popen", {"args": ["touch", str(at)]}, "model_validate_json"),
    ),
    "in-a-delta": lambda at: ("msgpack", nested(7, packed(0, "os", "system", f"touch {at}"))),
    "in-an-array": lambda at: ("msgpack", nested(6, packed(0, "os", "system", f"touch {at}"))),
    "in-a-send": lambda at: (
        "msgpack",
        in_send(ormsgpack.Ext(0, ormsgpack.packb(("os", "system", f"touch {at}")))),
    ),
    "in-a-list": lambda at: (
        "msgpack",
        ormsgpack.packb(
            [{"a": ormsgpack.Ext(0, ormsgpack.packb(("os", "system", f"touch {at}")))}]
        ),
    ),
    "json-2": lambda at: ("json", constructor(2, at)),
    "json-1": lambda at: ("json", constructor(1, at)),
    "pickle": lambda at: ("pickle", pickle.dumps(Touch(at))),
}


def plant(place: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what is stored of a thread's checkpoints, past the saver."""
    kept = SessionLog(place, "langgraph")
    logs = inner_store(kept.store, "checkpoints")
    session = logs.load("t")
    for record in session.messages:
        change(record.structured_data)
    logs.save(session)
    logs.close()
    kept.close()


def piece(kind: str, data: bytes) -> list[str]:
    return [kind, b64encode(data).decode("ascii")]


@pytest.mark.parametrize("name", HOSTILE)
def test_stored_value_runs_no_code(name: str, kept_at: Any, marker: Path) -> None:
    config = put(CortextSaver(kept_at), {"c": "harmless"})
    hostile = piece(*HOSTILE[name](marker))
    plant(kept_at, lambda data: data["values"].update(c=hostile))
    with pytest.raises(CheckpointTypeError) as raised:
        CortextSaver(kept_at).get_tuple(on("t"))
    assert not marker.exists()
    error = raised.value
    assert (error.thread, error.checkpoint) == ("t", config["configurable"]["checkpoint_id"])
    assert error.type in ("os.system", "subprocess.Popen", "pathlib.Path.touch", "json", "pickle")
    assert f"{error.type} is not allowed" in str(error)
    assert error.hint


def places(hostile: Any) -> dict[str, Callable[[dict[str, Any]], Any]]:
    messages = {"new": [hostile]}
    return {
        "channel": lambda data: "put" in data and data["values"].update(c=hostile),
        "message": lambda data: "put" in data and data["values"].update(messages=messages),
        "state": lambda data: "put" in data and data.update(state=hostile),
        "metadata": lambda data: "put" in data and data.update(meta=hostile),
        "write": lambda data: "writes" in data and data["writes"][0].__setitem__(2, hostile),
    }  # fmt: skip


@pytest.mark.parametrize("where", places(None))
def test_no_saver_method_runs_code_from_checkpoint(
    where: str, tmp_path: Path, marker: Path
) -> None:
    """Whatever is asked of the saver, and wherever in a checkpoint the data stands."""
    saver = CortextSaver(tmp_path / "kept")
    config = put(saver, {"c": "harmless", "messages": [HumanMessage("hi", id="1")]})
    saver.put_writes(config, [("messages", "harmless")], "task")
    latest = put(saver, {"c": "again"}, config)
    hostile = piece(*HOSTILE["one-argument"](marker))
    plant(tmp_path / "kept", places(hostile)[where])
    asked: list[Callable[[CortextSaver], Any]] = [
        lambda one: one.get_tuple(on("t")),
        lambda one: [*one.list(on("t"))],
        lambda one: [*one.list(None, filter={"step": 0})],
        lambda one: one.get_delta_channel_history(config=latest, channels=["messages", "c"]),
        lambda one: put(one, {"c": "next", "messages": []}, config),
        lambda one: one.copy_thread("t", "t-copy"),
        lambda one: one.prune(["t"]),
        lambda one: one.delete_for_runs(["run"]),
        lambda one: agent(one, Model()).invoke({"messages": [("user", "hi")]}, on("t")),
    ]
    refused = 0
    for ask in asked:
        try:
            ask(CortextSaver(tmp_path / "kept"))
        except CheckpointTypeError as error:
            assert error.thread in ("t", "t-copy")  # noqa: PT017
            assert error.type == "os.system"  # noqa: PT017
            refused += 1
    assert refused
    assert not marker.exists()
    CortextSaver(tmp_path / "kept").delete_thread("t")
    assert CortextSaver(tmp_path / "kept").get_tuple(on("t")) is None


def test_scan_and_redact_run_no_code(tmp_path: Path, marker: Path) -> None:
    put(CortextSaver(tmp_path / "kept"), {"c": "harmless"})
    secret = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    data = packed(0, "os", "system", f"touch {marker} {secret}")
    plant(tmp_path / "kept", lambda record: record["values"].update(c=piece("msgpack", data)))
    for command in (["scan", "--all"], ["redact", "t", "--yes"], ["show", "t"]):
        done = subprocess.run(
            [sys.executable, "-m", "cortext", *command],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        if command[0] == "scan":
            assert "checkpoints/t.jsonl" in done.stdout
    assert not marker.exists()


@pytest.mark.parametrize("encrypts", [False, True])
def test_given_serializer_of_langgraph_runs_no_code(
    encrypts: bool, tmp_path: Path, marker: Path
) -> None:
    """LangGraph's default allows every type, also inside one that encrypts: an attacker without
    the key stores data that is not encrypted."""

    class Cipher:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "none", plaintext

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return ciphertext

    serde: Any = EncryptedSerializer(Cipher()) if encrypts else JsonPlusSerializer()
    put(CortextSaver(tmp_path, serde=serde), {"c": "harmless"})
    for kind in ("msgpack", "msgpack+none"):
        hostile = piece(kind, HOSTILE["one-argument"](marker)[1])
        plant(tmp_path, lambda data, hostile=hostile: data["values"].update(c=hostile))
        with pytest.raises(CheckpointTypeError):
            CortextSaver(tmp_path, serde=serde).get_tuple(on("t"))
    assert not marker.exists()


ORDINARY: dict[str, Any] = {
    "messages": [HumanMessage("a", id="1"), AIMessage("b", id="2")],
    "send": [Send("node", {"x": [HumanMessage("c", id="3")]})],
    "command": Command(goto=Send("node", 1), update={"k": 1}, resume="yes"),
    "interrupt": (Interrupt(value={"ask": datetime(2026, 1, 2, tzinfo=UTC)}, id="i"),),
    "document": Document("page", metadata={"n": 1}),
    "times": [datetime(2026, 1, 2, 3, tzinfo=ZoneInfo("Europe/Rome")), date(2026, 1, 2),
              time(3, 4), timedelta(days=1), ZoneInfo("Europe/Rome")],
    "ids": {"a": UUID(int=7)},
    "sets": [{1}, frozenset({2})],
}  # fmt: skip


def test_ordinary_state_round_trips_without_allow_list(kept_at: Any) -> None:
    """What a saver of the default writes, another one of the default reads, as LangGraph does."""
    serde = JsonPlusSerializer()
    expected = {name: serde.loads_typed(serde.dumps_typed(one)) for name, one in ORDINARY.items()}
    saver = CortextSaver(kept_at)
    saver.put_writes(put(saver, ORDINARY), [*ORDINARY.items()], "task")
    found = CortextSaver(kept_at).get_tuple(on("t"))
    assert found is not None
    assert repr(found.checkpoint["channel_values"]) == repr(expected)
    writes = {channel: value for _, channel, value in found.pending_writes or ()}
    assert repr(writes) == repr(expected)


@pytest.mark.parametrize("value", OWN, ids=repr)
def test_own_type_is_refused_on_put_by_default(value: Any, tmp_path: Path) -> None:
    """Not only when it is read: nothing is stored that could not be read again."""
    saver = CortextSaver(tmp_path)
    config = put(saver, {"c": "before"})
    with pytest.raises(CheckpointTypeError, match=f"thread t: the type {__name__}") as raised:
        put(saver, {"c": value}, config)
    assert "allowed_types=" in raised.value.hint
    with pytest.raises(CheckpointTypeError):
        saver.put_writes(config, [("c", value)], "task")
    assert got(tmp_path) == {"c": "before"}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("value", OWN, ids=repr)
def test_allowed_own_type_round_trips(value: Any, named: bool, tmp_path: Path) -> None:
    types: list[Any] = [Plan, Step, Color, Point]
    allowed = [(one.__module__, one.__name__) for one in types] if named else types
    saver = CortextSaver(tmp_path, allowed_types=allowed)
    saver.put_writes(put(saver, {"c": value}), [("c", value)], "task")
    again = CortextSaver.from_conn_string(str(tmp_path), allowed_types=allowed)
    found = again.get_tuple(on("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"c": value}
    assert found.pending_writes == [("task", "c", value)]
    with pytest.raises(CheckpointTypeError, match=__name__):
        got(tmp_path)


def test_type_langgraph_cannot_read_is_refused_even_when_allowed(tmp_path: Path) -> None:
    saver = CortextSaver(tmp_path, allowed_types=[Moment])
    with pytest.raises(CheckpointTypeError, match=r"Moment\.fromisoformat is not allowed"):
        put(saver, {"c": Moment.now(UTC)})


def test_saver_adds_allow_list_of_given_serializer(tmp_path: Path) -> None:
    serde = JsonPlusSerializer(allowed_msgpack_modules=[Plan])
    saver = CortextSaver(tmp_path, serde=serde, allowed_types=[Step])
    put(saver, {"c": [Plan(steps=["a"]), Step("b")]})
    assert got(tmp_path, serde.with_msgpack_allowlist([Step])) == {
        "c": [Plan(steps=["a"]), Step("b")]
    }
    assert texts_of(tmp_path) == []


def texts_of(place: Path) -> list[str]:
    return [message.content for message in SessionLog(place, "langgraph").store.load("t").messages]


def test_custom_serializer_class_decides_types_without_allowed_types(tmp_path: Path) -> None:
    class Own(JsonPlusSerializer):
        pass

    put(CortextSaver(tmp_path, serde=Own()), {"c": Step("a")})
    assert got(tmp_path, Own()) == {"c": Step("a")}
    with pytest.raises(ValueError, match="Own decides by itself"):
        CortextSaver(tmp_path, serde=Own(), allowed_types=[Step])


def test_pickle_is_read_only_with_pickle_fallback(tmp_path: Path) -> None:
    serde = JsonPlusSerializer(pickle_fallback=True)
    put(CortextSaver(tmp_path, serde=serde), {"c": complex(1, 2)})
    assert got(tmp_path, serde) == {"c": complex(1, 2)}
    with pytest.raises(CheckpointTypeError, match="kind pickle"):
        got(tmp_path)


def test_run_with_own_type_fails_with_hint_in_every_durability(tmp_path: Path) -> None:
    """Also where LangGraph saves in the background."""

    def graph(saver: CortextSaver) -> Any:
        builder: Any = StateGraph(PlanState)
        builder.add_node("plan", lambda state: {"plan": Plan(steps=["a"])})
        builder.add_edge(START, "plan")
        return builder.compile(checkpointer=saver)

    for when in ("sync", "async", "exit"):
        with pytest.raises(CheckpointTypeError) as raised:
            graph(CortextSaver(tmp_path)).invoke({"plan": None}, on(when), durability=when)
        assert raised.value.type == f"{__name__}.Plan"
    allowed = CortextSaver(tmp_path, allowed_types=[Plan])
    assert graph(allowed).invoke({"plan": None}, on("t"))["plan"] == Plan(steps=["a"])
    assert graph(allowed).get_state(on("t")).values["plan"] == Plan(steps=["a"])


def test_with_allowlist_allows_types_and_keeps_conversation(tmp_path: Path) -> None:
    """With LANGGRAPH_STRICT_MSGPACK it gives a copy of the saver the types of the graph's state;
    conversations are still written."""
    saver: Any = CortextSaver(tmp_path).with_allowlist([(__name__, "Plan")])
    put(saver, {"c": Plan(steps=["a"]), "messages": [HumanMessage("hi", id="1")]})
    found = CortextSaver(tmp_path, allowed_types=[Plan]).get_tuple(on("t"))
    assert found is not None
    assert found.checkpoint["channel_values"]["c"] == Plan(steps=["a"])
    assert texts(found.checkpoint["channel_values"]["messages"]) == texts_of(tmp_path) == ["hi"]


def test_type_error_message_is_printable_and_short(tmp_path: Path) -> None:
    put(CortextSaver(tmp_path), {"c": "harmless"})
    data = packed(0, "os\n\x1b[2J", "system" * 1000, "")
    plant(tmp_path, lambda record: record["values"].update(c=piece("msgpack", data)))
    with pytest.raises(CheckpointTypeError) as raised:
        got(tmp_path)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400
