"""Whose a conversation is, and which result belongs to which call."""

from pathlib import Path
from typing import Any

import pytest

from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.call_repair import INTERRUPTED, repair_items
from cortext.errors import InvalidIdError, SessionOwnerError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.llm.scenes import model


def test_conversation_of_another_owner_is_refused_and_unchanged(tmp_path: Path) -> None:
    """By one sentence that does not say whose it is, and nothing is changed; a caller who names no
    owner has it."""
    lous = CortextLog(tmp_path, owner="lou").conversation("lou/1", model())
    lous.prompt("private").text()
    [file] = tmp_path.glob("*.jsonl")
    before = file.read_bytes()
    mia = CortextLog(tmp_path, owner="mia")
    response = model().prompt("mine")
    response.text()
    response.conversation = lous
    for use in (
        lambda: mia.conversation("lou/1", model()),
        lambda: mia.messages("lou/1"),
        lambda: mia.keep(response),
    ):
        with pytest.raises(
            SessionOwnerError, match=r"^session lou/1 belongs to another owner(\n|$)"
        ):
            use()
    assert file.read_bytes() == before
    assert len(CortextLog(tmp_path).messages("lou/1")) == 2
    assert len(CortextLog(tmp_path, owner="lou").messages("lou/1")) == 2


def test_conversations_include_owned_sessions_of_other_frameworks(tmp_path: Path) -> None:
    """By its owner, under an id that llm can go on with."""
    said = [SessionMessage("user", "begun elsewhere")]
    metadata = {"framework": "langgraph", "thread_id": "t1"}
    LogStore(tmp_path).save(Session("t1", owner="ada", messages=said, metadata=metadata))
    log = CortextLog(tmp_path, owner="ada")
    [row] = log.conversations(owner="ada")
    assert row.id == "t1"
    assert log.conversation("t1", model()).prompt("go on").text() == "echo: go on"
    assert len(log.messages("t1")) == 3


def test_conversation_refuses_empty_id(tmp_path: Path) -> None:
    """Else all who forgot it would share one."""
    with pytest.raises(InvalidIdError, match="not a valid id: ''"):
        CortextLog(tmp_path).conversation("", model())


def test_repaired_history_gives_each_call_with_reused_id_own_result() -> None:
    """A call was cut off; the result of a later one with its id is the later one's."""

    def say(role: str, **part: Any) -> dict[str, Any]:
        return {"role": role, "parts": [part]}

    def called(city: str) -> dict[str, Any]:
        return say(
            "assistant", type="tool_call", name="look", tool_call_id="c1", arguments={"in": city}
        )

    sunny = say("tool", type="tool_result", name="look", tool_call_id="c1", output="sunny")
    hello = say("user", type="text", text="hello")
    history = [called("Rome"), hello, called("Oslo"), sunny, say("user", type="text", text="so?")]
    whole = repair_items(history)
    shown = [(one["role"], one["parts"][0].get("output")) for one in whole]
    assert shown == [
        ("assistant", None),
        ("tool", INTERRUPTED),
        ("user", None),
        ("assistant", None),
        ("tool", "sunny"),
        ("user", None),
    ]
    assert repair_items(whole) == whole
