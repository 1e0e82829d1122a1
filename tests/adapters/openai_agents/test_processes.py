"""Several processes on one session, and processes that die."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Runner, SQLiteSession

from cortext.adapters.openai_agents import CortextSession
from cortext.adapters.openai_agents.unanswered_calls import INTERRUPTED
from cortext.features.transfer.import_sqlite import put_items, read_database
from cortext.stores.log import LogStore
from tests.adapters.children import all_do, dies
from tests.adapters.openai_agents.scenes import call, dumped, look_up, pay, speaker


def write(place: Path, name: str, count: int) -> None:
    """Add so many items, and note each that is acknowledged."""

    async def main() -> None:
        session = CortextSession("shared", place / "kept")
        with (place / name).open("w", encoding="utf-8") as acknowledged:
            for number in range(count):
                await session.add_items([{"content": f"{name}-{number}", "role": "user"}])
                print(f"{name}-{number}", file=acknowledged, flush=True)

    asyncio.run(main())


def test_eight_processes_write_to_one_session_without_loss(tmp_path: Path) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    names = [f"w{number}" for number in range(8)]
    all_do(write, *((tmp_path, name, 20) for name in names))
    items: Any = asyncio.run(CortextSession("shared", tmp_path / "kept").get_items())
    texts = [item["content"] for item in items]
    for name in names:
        acknowledged = (tmp_path / name).read_text(encoding="utf-8").split()
        assert acknowledged == [f"{name}-{number}" for number in range(20)]
        assert [text for text in texts if text.startswith(f"{name}-")] == acknowledged
    assert LogStore(tmp_path / "kept").load("shared").message_count == 160


@pytest.mark.parametrize("what", ["begin_and_crash", "record_a_call_and_crash"])
def test_run_continues_after_crash_in_tool(what: str, tmp_path: Path) -> None:
    """Killed while a tool is at work: the conversation goes on."""
    dies("openai_agents", what, tmp_path)
    agent, model = speaker("it was cut off", tools=[look_up])
    session = CortextSession("s", tmp_path)
    result = asyncio.run(Runner.run(agent, "what happened?", session=session))
    assert result.final_output == "it was cut off"
    assert model.last_call is not None
    given: Any = model.last_call.input
    asked = [item["content"] for item in given if item.get("role") == "user"]
    assert asked == ["do it", "what happened?"]
    answers = [item["output"] for item in given if item.get("type") == "function_call_output"]
    # The runner records a call and its result together, so of its own there is neither.
    assert answers == ([] if what == "begin_and_crash" else [INTERRUPTED])


def test_pending_run_is_approved_in_another_process_after_crash(tmp_path: Path) -> None:
    """A run waits, its process is killed, and the run is approved here."""
    dies("openai_agents", "wait_and_crash", tmp_path)

    async def main() -> None:
        rows = await CortextSession.list_sessions(tmp_path, owner="ada")
        assert [(row.session_id, row.waits) for row in rows] == [("s", True)]
        session = CortextSession("s", tmp_path)
        agent, _ = speaker("paid", tools=[pay, look_up])
        state = await session.load_pending(agent)
        assert state is not None
        (waits,) = state.get_interruptions()
        assert waits.name == "pay"
        state.approve(waits)
        result = await Runner.run(agent, state, session=session)
        await session.save_pending(None)
        assert result.final_output == "paid"
        items: Any = await session.get_items()
        assert [item.get("type", "user") for item in items] == [
            "user", "function_call", "function_call_output", "message",
        ]  # fmt: skip
        assert items[2]["output"] == "paid 3"
        assert await session.load_pending(agent) is None
        assert [row.waits for row in await CortextSession.list_sessions(tmp_path)] == [False]

    asyncio.run(main())


def test_run_continues_imported_sqlite_session(tmp_path: Path) -> None:
    """Its real file, read by `cortext import`, and a run that knows all of it."""
    path = tmp_path / "conversations.db"

    async def main() -> None:
        before = SQLiteSession("user:7", path)
        agent, _ = speaker([call("look_up", "c1", key="x")], "found it", tools=[look_up])
        await Runner.run(agent, "look it up", session=before)
        kept = await before.get_items()
        before.close()
        (read,) = read_database(str(path))
        assert put_items(read.session, LogStore(tmp_path / "kept"))
        session = CortextSession("user:7", tmp_path / "kept")
        assert dumped(await session.get_items()) == dumped(kept)
        agent, model = speaker("as I said")
        await Runner.run(agent, "again", session=session)
        assert model.last_call is not None
        assert dumped(model.last_call.input)[:-1] == dumped(kept)
        assert [
            row.session_id for row in await CortextSession.list_sessions(tmp_path / "kept")
        ] == ["user:7"]

    asyncio.run(main())
