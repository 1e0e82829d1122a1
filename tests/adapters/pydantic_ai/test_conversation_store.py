"""Conversations come back as they were, with branches, forks and what other programs said."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from cortext.adapters.pydantic_ai import CortextConversationStore
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.pydantic_ai.scenes import call, speaker
from tests.adapters.pydantic_ai.store_checks import (
    IMAGE,
    answer,
    check_messages_round_trip,
    check_store_steps,
    said,
    shown,
    talk,
)


def test_messages_round_trip_byte_for_byte(kept_place: Any) -> None:
    """Byte for byte, from the store that saved it and from another, with usage and what waits."""
    check_messages_round_trip(kept_place)


def test_conversation_store_behaves_like_framework_store(kept_place: Any) -> None:
    """The same steps give the same here and in the framework's own store."""
    check_store_steps(kept_place)


def test_read_entry_raises_lookup_error_for_missing_entry(tmp_path: Path) -> None:
    """A LookupError, as the framework expects."""
    with pytest.raises(LookupError):
        asyncio.run(CortextConversationStore(tmp_path).read_entry("nowhere"))


def test_conversation_is_readable_as_plain_log_store(tmp_path: Path) -> None:
    """What people and other programs see: roles, texts, calls, results, owner, title."""
    message = ModelRequest([ToolReturnPart("look_up", "found x", "c1"),
                            ToolReturnPart("look_up", {"y": 1}, "c2"),
                            UserPromptPart("thanks")])  # fmt: skip
    calls = ModelResponse([TextPart("looking"), call("look_up", "c1", key="x"),
                           ToolCallPart("look_up", '{"key": "y"}', "c2")])  # fmt: skip
    opening = ModelRequest([SystemPromptPart("be kind"), UserPromptPart(["find x", IMAGE])])
    conversation = Conversation(conversation_id="s", messages=[opening, calls, message])
    asyncio.run(CortextConversationStore(tmp_path).save(conversation, scope="ada"))
    session = LogStore(tmp_path).load("s")
    assert (session.owner, session.title) == ("ada", "find x")
    assert [(each.role, each.content, each.tool_call_id) for each in session.messages] == [
        ("system", "be kind", None),
        ("user", "find x\n[image]", None),
        ("assistant", "looking", None),
        ("tool", "found x", "c1"),
        ("tool", '{"y":1}', "c2"),
        ("user", "thanks", None),
    ]
    assert session.messages[2].tool_calls == [
        {"id": "c1", "name": "look_up", "arguments": {"key": "x"}},
        {"id": "c2", "name": "look_up", "arguments": {"key": "y"}},
    ]


def test_save_keeps_existing_bytes_and_file(tmp_path: Path) -> None:
    """The bytes that were there stay where they are."""
    store = CortextConversationStore(tmp_path)
    conversation = Conversation(conversation_id="s", messages=talk(*"abcdef"))
    asyncio.run(store.save(conversation))
    path = tmp_path / "s.jsonl"
    before, inode = path.read_bytes(), path.stat().st_ino
    conversation.messages += talk("g", "h")
    asyncio.run(store.save(conversation))
    after = path.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 2
    assert path.stat().st_ino == inode


def test_run_continues_session_of_another_program(tmp_path: Path) -> None:
    """A session of another program is continued by a real run, and by that program again."""
    other = LogStore(tmp_path)
    other.save(Session("s", owner="ada", messages=[
        SessionMessage("system", "You are a pirate."),
        SessionMessage("user", "look"),
        SessionMessage("assistant", "", tool_calls=[
            {"id": "c1", "name": "mcp__web.find", "arguments": {"q": 1}},
            {"id": "c2", "name": "Read", "arguments": {}, "result": "text"}]),
        SessionMessage("tool", "found", tool_call_id="c1"),
        SessionMessage("assistant", "", tool_calls=[{"id": "c9", "name": "t", "arguments": {}}]),
    ]))  # fmt: skip
    store = CortextConversationStore(tmp_path)

    async def main() -> None:
        assert await store.load("s", scope="bob") is None
        loaded = await store.load("s", scope="ada")
        agent, script = speaker("it is here")
        result = await agent.run("so?", conversation=loaded)
        parts = [part for message in script.seen[0] for part in message.parts]
        assert [part.part_kind for part in parts] == [
            "user-prompt", "user-prompt", "tool-call", "tool-call", "tool-return", "tool-return",
            "tool-call", "tool-return", "user-prompt",
        ]  # fmt: skip
        assert isinstance(parts[2], ToolCallPart)
        assert parts[2].tool_name == "mcp__web_find"
        await store.save(result)
        other.append("s", SessionMessage("user", "and from elsewhere"))
        with pytest.raises(ConversationConflict):
            await store.save(result)
        again = await store.load("s")
        assert shown(again)[-2:] == ["it is here", "and from elsewhere"]
        assert again is not None
        again.messages.append(answer("seen"))
        await store.save(again)
        assert shown(await store.load("s"))[-2:] == ["and from elsewhere", "seen"]
        assert (await store.read_record("s")).scope == "ada"  # type: ignore[union-attr]

    asyncio.run(main())
    assert LogStore(tmp_path).head("s").owner == "ada"


def test_damaged_line_loses_one_message_and_conversation_continues(tmp_path: Path) -> None:
    """One message is lost, and the conversation goes on."""
    store = CortextConversationStore(tmp_path)
    asyncio.run(store.save(Conversation(conversation_id="s", messages=talk(*"abcd"))))
    path = tmp_path / "s.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3][:40]
    path.write_bytes(b"\n".join(lines))
    store = CortextConversationStore(tmp_path)
    loaded = asyncio.run(store.load("s"))
    assert shown(loaded) == ["a", "b", "d"]
    assert loaded is not None
    loaded.messages.append(said("e"))
    asyncio.run(store.save(loaded))
    assert shown(asyncio.run(store.load("s"))) == ["a", "b", "d", "e"]


def test_unreadable_message_is_skipped_and_stays_in_file(tmp_path: Path) -> None:
    """As one of a later version: it is passed over and stays in the file."""
    store = CortextConversationStore(tmp_path)
    asyncio.run(store.save(Conversation(conversation_id="s", messages=talk(*"abcd"))))
    path = tmp_path / "s.jsonl"
    changed = path.read_text(encoding="utf-8").replace('"content":"b","id"', '"contents":"b","id"')
    path.write_text(changed, encoding="utf-8")
    store = CortextConversationStore(tmp_path)
    loaded = asyncio.run(store.load("s"))
    assert shown(loaded) == ["a", "c", "d"]
    assert loaded is not None
    loaded.messages.append(said("e"))
    asyncio.run(store.save(loaded))
    assert path.read_text(encoding="utf-8").startswith(changed)


def test_list_conversations_includes_sessions_of_other_programs(tmp_path: Path) -> None:
    """Sessions of other programs are conversations of this store too: it can load them."""
    LogStore(tmp_path).save(Session("other", messages=[SessionMessage("user", "x")]))
    store = CortextConversationStore(tmp_path)
    asyncio.run(store.save(Conversation(conversation_id="mine", messages=talk("a"))))
    listed = asyncio.run(store.list_conversations())
    assert sorted(each.conversation_id for each in listed) == ["mine", "other"]


def test_write_record_stores_repeated_entry_once(tmp_path: Path) -> None:
    """An entry that is there is not written twice, and the record is."""

    async def main() -> None:
        store = CortextConversationStore(tmp_path)
        entry = ConversationEntry(parent_id=None, message=said("a"))
        one = ConversationRecord(conversation_id="s", head_id=entry.id)
        await store.write_record(one, new_entries=[entry], expected_revision=None)
        two = ConversationRecord(conversation_id="s", head_id=entry.id, scope="ada")
        await store.write_record(two, new_entries=[entry], expected_revision=one.revision)
        assert await store.read_record("s") == two
        assert shown(await store.load("s")) == ["a"]

    asyncio.run(main())
    assert LogStore(tmp_path).head("s").owner == "ada"
