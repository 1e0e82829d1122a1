"""Whose a conversation is, and which result belongs to which call."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ToolReturnPart

from cortext.adapters.pydantic_ai import CortextConversationStore, OwnerConflict
from cortext.errors import InvalidIdError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.pydantic_ai.scenes import speaker


def test_conversation_of_another_scope_is_not_loaded_or_saved(tmp_path: Path) -> None:
    """It is not there to be loaded, and the sentence of the conflict says why it cannot be
    saved, but not whose it is."""

    async def main() -> None:
        store = CortextConversationStore(tmp_path)
        agent, _ = speaker("a", "b", "c")
        result = await agent.run("private", conversation=Conversation(conversation_id="s"))
        await store.save(result, scope="bob")
        before = (tmp_path / "s.jsonl").read_bytes()
        assert await store.load("s", scope="anna") is None
        result = await agent.run("mine", conversation=Conversation(conversation_id="s"))
        with pytest.raises(OwnerConflict, match=r"^session s belongs to another owner(\n|$)"):
            await store.save(result, scope="anna")
        assert (tmp_path / "s.jsonl").read_bytes() == before
        assert issubclass(OwnerConflict, ConversationConflict)
        loaded = await store.load("s", scope="bob")
        await store.save(await agent.run("more", conversation=loaded), scope="bob")

    asyncio.run(main())


def test_save_of_unowned_conversation_refuses_scope(tmp_path: Path) -> None:
    """The framework takes it for another scope: the sentence says what to do."""
    LogStore(tmp_path).save(Session("s", messages=[SessionMessage("user", "hello")]))

    async def main() -> None:
        store = CortextConversationStore(tmp_path)
        agent, _ = speaker("a")
        result = await agent.run("go on", conversation=await store.load("s"))
        with pytest.raises(OwnerConflict, match="has no owner: load and save it without a scope"):
            await store.save(result, scope="anna")
        await store.save(result)

    asyncio.run(main())


def test_list_conversations_includes_owned_sessions_of_other_frameworks(tmp_path: Path) -> None:
    """By its owner, under an id that it can be loaded by."""
    metadata = {"framework": "openai_agents", "session_id": "s"}
    said = [SessionMessage("user", "begun elsewhere")]
    LogStore(tmp_path).save(Session("s", owner="ada", messages=said, metadata=metadata))

    async def main() -> None:
        store = CortextConversationStore(tmp_path)
        [record] = await store.list_conversations(scope="ada")
        assert record.conversation_id == "s"
        assert await store.load("s", scope="ada")
        assert await store.list_conversations(scope="bob") == []

    asyncio.run(main())


def test_save_refuses_empty_conversation_id(tmp_path: Path) -> None:
    """Else all who forgot it would share one."""
    store = CortextConversationStore(tmp_path)
    with pytest.raises(InvalidIdError, match="not a valid id: ''"):
        asyncio.run(store.save(Conversation(conversation_id="")))


def _results(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def test_model_sees_own_result_for_each_call_with_reused_id(tmp_path: Path) -> None:
    """A call was cut off elsewhere, and a later one with its id was answered: each has its own."""
    call = {"id": "c1", "name": "look_up", "arguments": {"key": "x"}}
    LogStore(tmp_path).save(Session("s", messages=[
        SessionMessage("user", "weather?"),
        SessionMessage("assistant", "", tool_calls=[call]),
        SessionMessage("user", "hello"),
        SessionMessage("assistant", "", tool_calls=[call]),
        SessionMessage("tool", "sunny", tool_call_id="c1"),
        SessionMessage("assistant", "it is sunny"),
    ]))  # fmt: skip

    async def main() -> None:
        store = CortextConversationStore(tmp_path)
        agent, script = speaker("fine")
        await agent.run("so?", conversation=await store.load("s"))
        first, second = _results(script.seen[0])
        assert first != "sunny"
        assert second == "sunny"

    asyncio.run(main())
