"""Messages come back as they were, and records of others become messages."""

from pathlib import Path
from typing import Any

import llm
import pytest
from llm.parts import (
    Message,
    ToolCallPart,
    ToolResultPart,
)

from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.call_repair import INTERRUPTED, repair_items
from cortext.adapters.llm.llm_log import LlmLog
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from cortext.stores.store_registry import open_session_store
from tests.adapters.llm.message_checks import MESSAGES, check_messages_round_trip
from tests.adapters.llm.scenes import model, sent


def place(kind: str, tmp_path: Path) -> Any:
    return {"path": tmp_path / "kept", "text": str(tmp_path / "kept"), "default": None,
            "memory": "memory:"}.get(kind, f"{kind}:{tmp_path}/kept")  # fmt: skip


@pytest.mark.parametrize("kind", ["path", "text", "default", "log", "file", "document", "memory"])
def test_messages_of_every_kind_round_trip(kind: str, tmp_path: Path) -> None:
    """Kept at once or one more each time, and read by another process's eyes."""
    check_messages_round_trip(place(kind, tmp_path))


def test_conversation_is_readable_as_plain_log_store(tmp_path: Path) -> None:
    """The folder is a plain log store, with roles, texts, calls and results."""
    LlmLog(tmp_path, "ada").keep_chain("user:7/chat", MESSAGES)
    store = LogStore(tmp_path)
    (id,) = store.list_session_ids()
    stored = store.load(id)
    assert (stored.owner, stored.title) == ("ada", "hello")
    assert stored.metadata == {"framework": "llm", "session_id": "user:7/chat"}
    texts = [(message.role, message.content) for message in stored.messages]
    assert texts[1:3] == [("user", "hello"), ("assistant", "hi")]
    assert ("user", "see\n[image/png]\n[text/plain: https://example.org/a]\n[attachment]") in texts
    calls = [message.tool_calls for message in stored.messages if message.tool_calls]
    assert calls[0][0] == {"id": "c1", "name": "look_up", "arguments": {"z": 1, "key": "x"}}
    assert calls[1][0]["result"] == "a page"
    results = [message for message in stored.messages if message.tool_call_id in ("c1", "c2")]
    assert [(one.role, one.content) for one in results] == [
        ("tool", "found x\n[image/png]"), ("tool", ""),
    ]  # fmt: skip
    assert results[1].structured_data == {"is_error": True}
    assert stored.messages[1].extra == {}


@pytest.mark.parametrize("kind", ["log", "document"])
def test_prompt_continues_session_of_another_program(kind: str, tmp_path: Path) -> None:
    """Records as a bridge makes them are what the model is sent; nothing of them is kept twice."""
    call = {"id": "t1", "name": "Read File", "arguments": {"path": "a"}}
    done = {"id": "t2", "name": "bash", "arguments": {"command": "ls"}, "result": "a b"}
    lost = {"id": "t3", "name": "bash", "arguments": {"command": "make"}}
    store = open_session_store(f"{kind}:{tmp_path}/kept")
    messages = [
        SessionMessage("user", "begun elsewhere"),
        SessionMessage("system", "[Request interrupted]"),
        SessionMessage("assistant", ""),
        SessionMessage("assistant", "I look", tool_calls=[call, done]),
        SessionMessage("tool", "text of a", tool_call_id="t1"),
        SessionMessage("assistant", "hm", tool_calls=[lost], extra={"another": {"x": 1}}),
        SessionMessage("user", "and?"),
    ]
    store.save(Session("s", messages=messages))
    conversation = CortextLog(f"{kind}:{tmp_path}/kept").conversation("s", model())
    told = sent(conversation.prompt("recall").text())
    assert [message["role"] for message in told] == [
        "user", "user", "assistant", "tool", "assistant", "tool", "user", "user",
    ]  # fmt: skip
    assert [part.get("name") for part in told[2]["parts"]] == [None, "Read_File", "bash"]
    assert [part["output"] for part in told[3]["parts"]] == ["text of a", "a b"]
    assert told[5]["parts"][0]["output"] == INTERRUPTED
    again = open_session_store(f"{kind}:{tmp_path}/kept").load("s")
    assert [message.content for message in again.messages[:7]] == [
        message.content for message in messages
    ]
    assert [message.role for message in again.messages[7:]] == ["user", "assistant"]


def test_repaired_history_places_each_result_after_its_call() -> None:
    """Also one that others wrote between; what answers nothing is text."""

    def call(*ids: str) -> Any:
        parts = [ToolCallPart("t", {}, id) for id in ids]
        return Message("assistant", list(parts)).to_dict()

    def result(*ids: str) -> Any:
        parts = [ToolResultPart("t", f"of {id}", id) for id in ids]
        return Message("tool", list(parts)).to_dict()

    whole = [llm.user("a").to_dict(), call("1", "2"), result("1", "2"), call("1"), result("1")]
    assert repair_items(whole) == whole
    mixed = [call("1"), llm.user("b").to_dict(), call("2"), result("1"), result("2"), result("9")]
    found = repair_items(mixed)
    assert found[:5] == [call("1"), result("1"), llm.user("b").to_dict(), call("2"), result("2")]
    assert found[5] == llm.user("[result of a tool] of 9").to_dict()
    assert len(found) == 6
    cut = repair_items([call("1", "2"), result("2")])
    assert [part["output"] for part in cut[1]["parts"]] == [INTERRUPTED, "of 2"]
    waits = [call("1"), llm.user("b").to_dict(), call("2", "3"), result("2")]
    assert [part["output"] for part in repair_items(waits, waits=True)[1]["parts"]] == [INTERRUPTED]
    assert repair_items(waits, waits=True)[-1] == result("2")
