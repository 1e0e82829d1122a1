"""Conversations come back as they were, with branches, forks and what other programs said."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Conversation, DeferredToolRequests, RunUsage
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SpeechPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from cortext.adapters.pydantic_ai import CortextConversationStore
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.pydantic_ai.scenes import call, speaker

WHEN = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
IMAGE = BinaryContent(b"\x89PNG\xff", media_type="image/png")
REQUESTS: list[Any] = [
    [UserPromptPart("plain", timestamp=WHEN)],
    [SystemPromptPart("be kind", timestamp=WHEN), UserPromptPart("hi\u2028\x00", timestamp=WHEN)],
    [UserPromptPart(["look", ImageUrl("http://x/y.png"), IMAGE, DocumentUrl("http://x/y.pdf"),
                     AudioUrl("http://x/y.mp3")], timestamp=WHEN)],
    [ToolReturnPart("t", "text", "c1", timestamp=WHEN),
     ToolReturnPart("t", {"n": 10**30, "x": [1.5, None]}, "c2", metadata={"a": 1}, timestamp=WHEN),
     UserPromptPart("and", timestamp=WHEN)],
    [ToolReturnPart("t", "no", "c3", timestamp=WHEN, outcome="failed")],
    [ToolReturnPart("t", IMAGE, "c4", timestamp=WHEN)],
    [ToolReturnPart("t", "again", "c5", timestamp=WHEN, outcome="retried")],
    [RetryFeedbackPart("wrong form", retry=RetryInfo(cause="no_output"), timestamp=WHEN)],
    [SpeechPart(speaker="user", transcript="hello")],
    [],
]  # fmt: skip
RESPONSES: list[Any] = [
    [TextPart("a", id="t1", provider_name="p", provider_details={"k": [1]})],
    [ThinkingPart("hm", signature="s", provider_name="p"), TextPart("b")],
    [ToolCallPart("t", '{"a": 1}', "c1"), ToolCallPart("t", {"a": 2}, "c2")],
    [ToolCallPart("t", '{"cut of', "c3"), ToolCallPart("t", None, "c4")],
    [NativeToolCallPart("web_search", {"query": "x"}, "w1", provider_name="p"),
     NativeToolReturnPart("web_search", {"hits": 3}, "w1", provider_name="p", timestamp=WHEN),
     TextPart("found")],
    [FilePart(IMAGE), SpeechPart(speaker="assistant", transcript="hi")],
    [CompactionPart("what was said", provider_name="p")],
    [],
]  # fmt: skip


def every_message() -> list[ModelMessage]:
    requests = [ModelRequest(parts, timestamp=WHEN, run_id="r", metadata={"k": "v"})
                for parts in REQUESTS]  # fmt: skip
    responses = [ModelResponse(parts, timestamp=WHEN, model_name="m", finish_reason="stop")
                 for parts in RESPONSES]  # fmt: skip
    return [*requests, *responses, ModelRequest([UserPromptPart("no time", timestamp=WHEN)])]


def dumped(messages: list[ModelMessage]) -> list[bytes]:
    return [ModelMessagesTypeAdapter.dump_json([message]) for message in messages]


def said(text: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text, timestamp=WHEN)], timestamp=WHEN)


def answer(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)], timestamp=WHEN)


def talk(*texts: str) -> list[ModelMessage]:
    return [answer(text) if number % 2 else said(text) for number, text in enumerate(texts)]


def shown(conversation: Conversation | None) -> list[str]:
    assert conversation is not None
    return [
        str(getattr(part, "content", part.part_kind))
        for each in conversation.messages
        for part in each.parts
    ]


def test_every_message_comes_back(place: Any) -> None:
    """Byte for byte, from the store that saved it and from another, with usage and what waits."""

    async def main() -> None:
        store = CortextConversationStore(place)
        waits = DeferredToolRequests(
            approvals=[call("pay", "p", amount=1)], metadata={"p": {"a": 1}}
        )
        usage = RunUsage(requests=2, input_tokens=3, tool_calls=4, details={"x": 5})
        given = Conversation(conversation_id="every/thing", messages=every_message(), usage=usage,
                             deferred_tool_requests=waits)  # fmt: skip
        before = dumped(given.messages)
        entries = await store.save(given, scope="ada")
        others = [store] if place == "memory:" else [store, CortextConversationStore(place)]
        for other in others:
            loaded = await other.load("every/thing")
            assert loaded is not None
            assert dumped(loaded.messages) == before
            assert (loaded.usage, loaded.deferred_tool_requests) == (usage, waits)
            assert loaded.revision == given.revision
            found = await other.load_entries("every/thing", limit=3)
            assert [entry.id for entry in found or ()] == [entry.id for entry in entries[-3:]]
            one = await other.read_entry(entries[4].id)
            assert (one.parent_id, dumped([one.message])) == (entries[3].id, [before[4]])

    asyncio.run(main())


def test_what_a_store_must_do(place: Any) -> None:
    """The same steps give the same here and in the framework's own store."""
    mine = asyncio.run(_steps(CortextConversationStore(place)))
    assert mine == asyncio.run(_steps(InMemoryConversationStore()))


async def _steps(store: Any) -> list[Any]:
    seen: list[Any] = []

    async def conflicts(work: Any) -> None:
        try:
            seen.append(await work)
        except (ConversationConflict, UserError) as error:
            seen.append(type(error).__name__)

    seen.append(await store.load("x"))
    first = Conversation(conversation_id="x", messages=talk("a", "b", "c", "d"))
    entries = await store.save(first, scope="ada")
    await conflicts(store.save(Conversation(conversation_id="x", messages=talk("z"))))
    seen.append(await store.load("x", scope="bob"))
    old = await store.load("x", limit=1)
    seen.append(shown(old))
    now = await store.load("x")
    now.messages += talk("e", "f")
    seen.append(len(await store.save(now)))
    seen.append(len(await store.save(now)))
    old.messages.append(said("late"))
    await conflicts(store.save(old))
    await conflicts(store.branch("x", at=2, expected_revision="other"))
    await conflicts(store.branch("x", at=9, expected_revision=now.revision))
    branched = await store.branch("x", at=2, expected_revision=now.revision)
    seen.append(shown(branched))
    branched.messages += talk("C", "D")
    await store.save(branched)
    seen.append(shown(await store.load("x")))
    record = await store.read_record("x")
    seen += [len(record.branches), record.scope]
    back = await store.branch("x", from_entry=record.branches[0], expected_revision=record.revision)
    seen.append(shown(back))
    fork = await store.fork("x", at=3, new_conversation_id="y", scope="eve")
    await conflicts(store.fork("x", new_conversation_id="y"))
    seen.append(shown(fork))
    fork.messages += talk("fork", "ed")
    await store.save(fork)
    forked = await store.read_record("y")
    seen += [forked.forked_from, forked.forked_at == entries[2].id, forked.scope]
    seen.append((await store.load_entries("y"))[0].id == entries[0].id)
    empty = await store.fork("x", at=0, new_conversation_id="z")
    seen.append(shown(empty))
    rewritten = Conversation(conversation_id="x", messages=talk("a", "B"), revision=back.revision)
    await store.save(rewritten)
    seen.append(shown(await store.load("x")))
    seen.append([each.conversation_id for each in await store.list_conversations()])
    seen.append([each.conversation_id for each in await store.list_conversations(scope="eve")])
    seen.append(len(await store.list_conversations(limit=1)))
    await store.delete("x", scope="bob")
    await store.delete("x", scope="ada")
    seen.append(await store.load("x"))
    seen.append(shown(await store.load("y")))
    seen.append([each.conversation_id for each in await store.list_conversations()])
    gone = ConversationRecord(conversation_id="w", head_id="nowhere")
    await conflicts(store.write_record(gone, expected_revision=None))
    await conflicts(store.delete_record("y", expected_revision="other"))
    again = Conversation(conversation_id="x", messages=talk("again"), revision=rewritten.revision)
    await conflicts(store.save(again))
    again.revision = None
    await store.save(again)
    seen.append(shown(await store.load("x")))
    return seen


def test_an_entry_that_is_not_there(tmp_path: Path) -> None:
    """A LookupError, as the framework expects."""
    with pytest.raises(LookupError):
        asyncio.run(CortextConversationStore(tmp_path).read_entry("nowhere"))


def test_the_folder_is_a_plain_log_store(tmp_path: Path) -> None:
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


def test_a_save_adds_only_what_is_new(tmp_path: Path) -> None:
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


def test_what_was_begun_elsewhere_goes_on(tmp_path: Path) -> None:
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


def test_a_damaged_line(tmp_path: Path) -> None:
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


def test_a_message_that_cannot_be_read(tmp_path: Path) -> None:
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


def test_others_are_listed(tmp_path: Path) -> None:
    """Sessions of other programs are conversations of this store too: it can load them."""
    LogStore(tmp_path).save(Session("other", messages=[SessionMessage("user", "x")]))
    store = CortextConversationStore(tmp_path)
    asyncio.run(store.save(Conversation(conversation_id="mine", messages=talk("a"))))
    listed = asyncio.run(store.list_conversations())
    assert sorted(each.conversation_id for each in listed) == ["mine", "other"]


def test_the_same_entries_again(tmp_path: Path) -> None:
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
