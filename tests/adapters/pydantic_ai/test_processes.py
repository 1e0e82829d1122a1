"""Several processes on one conversation, and processes that die."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ToolReturnPart,
)

from cortext.adapters.pydantic_ai import CortextConversationStore
from cortext.features.doctor.check_logs import check_log
from cortext.features.doctor.salvage.missing_tool_results import NO_RESULT
from cortext.stores.log import LogStore
from tests.adapters.children import FORK, all_do, dies
from tests.adapters.pydantic_ai.saved_messages import said, save_at_once, texts
from tests.adapters.pydantic_ai.scenes import call, speaker


def write(place: Path, name: str, count: int) -> None:
    """Save so many messages, each after the conflicts it takes, and note those acknowledged."""

    async def main() -> None:
        store = CortextConversationStore(place / "kept")
        with (place / name).open("w", encoding="utf-8") as acknowledged:
            for number in range(count):
                while True:
                    mine = await store.load("shared") or Conversation(conversation_id="shared")
                    mine.messages.append(said(f"{name}-{number}"))
                    try:
                        await store.save(mine)
                    except ConversationConflict:
                        continue
                    break
                print(f"{name}-{number}", file=acknowledged, flush=True)

    asyncio.run(main())


def test_eight_processes_save_one_conversation_without_loss(tmp_path: Path) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    names = [f"w{number}" for number in range(8)]
    all_do(write, *((tmp_path, name, 5) for name in names))
    loaded = asyncio.run(CortextConversationStore(tmp_path / "kept").load("shared"))
    assert loaded is not None
    found = texts(loaded.messages)
    for name in names:
        acknowledged = (tmp_path / name).read_text(encoding="utf-8").split()
        assert acknowledged == [f"{name}-{number}" for number in range(5)]
        assert [text for text in found if text.startswith(f"{name}-")] == acknowledged
    assert LogStore(tmp_path / "kept").load("shared").message_count == 40


def test_one_of_two_concurrent_saves_raises_conflict(tmp_path: Path) -> None:
    """Over and over: one is there, the other is told, and nothing of it is left behind."""
    store = CortextConversationStore(tmp_path)
    for round in range(8):
        asyncio.run(store.delete("s"))
        first = Conversation(conversation_id="s", messages=[said("first")])
        asyncio.run(store.save(first))
        ready, outcome = FORK.Barrier(2), FORK.Queue()
        args = [(tmp_path, name, ready, outcome) for name in ("a", "b")]
        writers = [FORK.Process(target=save_at_once, args=each) for each in args]
        for writer in writers:
            writer.start()
        got = sorted(outcome.get(timeout=60) for _ in writers)
        for writer in writers:
            writer.join(60)
        assert got[1] == "conflict", round
        loaded = asyncio.run(store.load("s"))
        assert loaded is not None
        assert texts(loaded.messages) == ["first", got[0]]
        assert LogStore(tmp_path).load("s").message_count == 2


@pytest.mark.parametrize(
    ("what", "mended"),
    [
        ("crash_in_a_tool", False),
        ("record_a_call_and_crash", False),
        ("record_a_call_and_crash", True),
    ],
)
def test_run_continues_after_crash_in_tool(
    what: str, mended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while a tool is at work: the conversation goes on, also when doctor has said in it
    that the call was cut off."""
    dies("pydantic_ai", what, tmp_path)
    if mended:
        monkeypatch.setattr(
            "cortext.features.doctor.salvage.missing_tool_results.RESTS", timedelta(0)
        )
        mend = check_log(str(tmp_path), "s").mend
        assert mend is not None
        mend.do()
        assert LogStore(tmp_path).load("s").messages[-1].role == "tool"
    agent, script = speaker("it was cut off")
    store = CortextConversationStore(tmp_path)

    async def main() -> None:
        before = await store.load("s")
        result = await agent.run("what happened?", conversation=before)
        assert result.output == "it was cut off"
        await store.save(result)

    asyncio.run(main())
    returns = [
        part
        for message in script.seen[0]
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    # A run is saved when it ends, so of its own a crash leaves neither call nor result.
    expected = [] if what == "crash_in_a_tool" else ["c1"]
    assert [part.tool_call_id for part in returns] == expected
    told = NO_RESULT if mended else "interrupted"
    assert all(told in str(part.content) for part in returns)
    assert {part.tool_name for part in returns} <= {"look_up"}
    loaded = asyncio.run(store.load("s"))
    assert loaded is not None
    assert loaded.messages[-1].parts[0] == TextPart("it was cut off")


def test_model_is_told_of_interrupted_call_in_history(tmp_path: Path) -> None:
    """The model is told that the call was interrupted."""
    store = CortextConversationStore(tmp_path)
    history = [said("a"), ModelResponse([call("look_up", "c1", key="x")]), said("b"),
               ModelResponse([TextPart("fine")])]  # fmt: skip
    asyncio.run(store.save(Conversation(conversation_id="s", messages=history)))
    agent, script = speaker("goes on")
    loaded = asyncio.run(store.load("s"))
    assert asyncio.run(agent.run("c", conversation=loaded)).output == "goes on"
    parts = [part for message in script.seen[0] for part in message.parts]
    (told,) = [part for part in parts if isinstance(part, ToolReturnPart)]
    assert (told.tool_call_id, told.outcome) == ("c1", "interrupted")


def test_pending_run_is_approved_in_another_process_after_crash(tmp_path: Path) -> None:
    """A run waits, its process is killed, and the run is approved here."""
    dies("pydantic_ai", "wait_and_crash", tmp_path)
    head = LogStore(tmp_path).head("s")
    assert (head.owner, head.pending["framework"]) == ("ada", "pydantic_ai")
    store = CortextConversationStore(tmp_path)
    agent, _ = speaker("done")

    async def main() -> None:
        (listed,) = await store.list_conversations(scope="ada")
        assert listed.deferred_tool_requests is not None
        loaded = await store.load("s", scope="ada")
        assert loaded is not None
        waits = loaded.deferred_tool_requests
        assert waits is not None
        assert [part.tool_name for part in waits.approvals] == ["pay"]
        result = await agent.run(
            conversation=loaded, deferred_tool_results=waits.build_results(approve_all=True)
        )
        assert result.output == "done"
        await store.save(result)
        found = await store.load("s")
        assert found is not None
        assert found.deferred_tool_requests is None
        (part,) = found.messages[2].parts
        assert isinstance(part, ToolReturnPart)
        assert part.content == "paid 3"

    asyncio.run(main())
    assert LogStore(tmp_path).head("s").pending is None
