"""What a conversation store must do, wherever it keeps conversations."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import Conversation, DeferredToolRequests, RunUsage
from pydantic_ai.conversation_store import (
    ConversationConflict,
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
from tests.adapters.pydantic_ai.scenes import call

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


def check_messages_round_trip(place: Any) -> None:
    """Check that a store, and another one, give back every message byte for byte."""

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


def check_store_steps(place: Any) -> None:
    """Check that each step has the same result as in the framework's own store."""
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
