"""Whose a session is, and who may have it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Runner

from cortext.adapters.openai_agents import CortextSession
from cortext.adapters.openai_agents.unanswered_calls import INTERRUPTED, repair_items
from cortext.errors import InvalidIdError, SessionOwnerError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.openai_agents.scenes import speaker

HELLO: Any = [{"content": "hello", "role": "user"}]


@pytest.mark.parametrize("kind", ["log", "document"])
def test_session_of_another_owner_is_refused_and_unchanged(kind: str, tmp_path: Path) -> None:
    """By one sentence that does not say whose it is, and nothing is changed; a caller who names no
    owner has it, and so has its owner."""
    place = f"{kind}:{tmp_path}"

    async def main() -> None:
        await CortextSession("7", place, owner="bob").add_items(HELLO)
        annas = CortextSession("7", place, owner="anna")
        agent, model = speaker("hi")
        for use in (
            annas.get_items(),
            annas.add_items(HELLO),
            annas.pop_item(),
            annas.clear_session(),
            annas.save_pending(None),
            annas.load_pending(agent),
            Runner.run(agent, "whose?", session=annas),
        ):
            with pytest.raises(SessionOwnerError) as refused:
                await use
            assert str(refused.value) == "session 7 belongs to another owner"
        assert not model.calls
        assert await CortextSession("7", place, owner="bob").get_items() == HELLO
        assert await CortextSession("7", place).get_items() == HELLO

    asyncio.run(main())


def test_list_sessions_includes_owned_sessions_of_other_frameworks(tmp_path: Path) -> None:
    """Under an id that this one can go on with, and never used before it was made."""
    store = LogStore(tmp_path)
    said = [SessionMessage("user", "begun elsewhere")]
    metadata = {"framework": "google_adk", "session_id": "s1"}
    store.save(Session("shop-ada-s1", owner="ada", messages=said, metadata=metadata))

    async def main() -> None:
        await CortextSession("ada/2", tmp_path, owner="ada").add_items(HELLO)
        rows = await CortextSession.list_sessions(tmp_path, owner="ada")
        assert sorted(row.session_id for row in rows) == ["ada/2", "shop-ada-s1"]
        assert all(row.updated_at >= row.created_at for row in rows)
        for row in rows:
            assert await CortextSession(row.session_id, tmp_path, owner="ada").get_items()

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", " \n"])
def test_session_refuses_blank_id(name: str, tmp_path: Path) -> None:
    """Else all who forgot it would share one."""
    with pytest.raises(InvalidIdError, match="not a valid id"):
        CortextSession(name, tmp_path)


def test_model_sees_own_result_for_each_call_with_reused_id(tmp_path: Path) -> None:
    """A call was cut off, and a later one with its id was answered: the model is told both."""
    history: Any = [
        {"role": "user", "content": "weather?"},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"key": "a"}'},
        {"role": "user", "content": "hello"},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"key": "b"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    ]
    outputs = [one["output"] for one in repair_items(history) if "output" in one]
    assert outputs == [INTERRUPTED, "sunny"]

    async def main() -> None:
        session = CortextSession("s", tmp_path)
        await session.add_items(history)
        agent, model = speaker("fine")
        await Runner.run(agent, "so?", session=session)
        told: Any = model.last_call.input
        calls = {one["call_id"]: one["arguments"] for one in told if "arguments" in one}
        results = {one["call_id"]: one["output"] for one in told if "output" in one}
        assert {calls[id]: results[id] for id in calls} == {
            '{"key": "a"}': INTERRUPTED,
            '{"key": "b"}': "sunny",
        }

    asyncio.run(main())
