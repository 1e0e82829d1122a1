"""Several processes on one session, and processes that die."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from cortext.adapters.google_adk import CortextSessionService, adk_session_storage
from cortext.adapters.google_adk.adk_events import INTERRUPTED
from cortext.adapters.session_log import id_of
from cortext.features.doctor.check_logs import check_log
from cortext.stores.log import LogStore
from tests.adapters.children import FORK, all_do, dies
from tests.adapters.google_adk.created_sessions import WHO, create
from tests.adapters.google_adk.scenes import APP, USER, answer, last_text, run, speaker


def harmless(key: str) -> str:
    """Does what `crash` was to do."""
    return f"harmless {key}"


harmless.__name__ = "crash"
ID = id_of(APP, USER, "s")


def write(place: Path, name: str, count: int) -> None:
    """Add so many events to one session, read once, and note each that is acknowledged."""

    async def main() -> None:
        service = CortextSessionService(place / "kept")
        session = await service.get_session(**WHO, session_id="s")
        assert session is not None
        with (place / name).open("w", encoding="utf-8") as acknowledged:
            for number in range(count):
                text = types.Content(role="user", parts=[types.Part(text=f"{name}-{number}")])
                delta = {f"own-{name}": number, f"user:{name}": number, f"app:{name}": number}
                actions = EventActions(state_delta=delta)
                event = Event(author="user", invocation_id=name, content=text, actions=actions)
                await service.append_event(session, event)
                print(f"{name}-{number}", file=acknowledged, flush=True)

    asyncio.run(main())


def test_eight_processes_write_to_one_session_without_loss(tmp_path: Path) -> None:
    """Nobody is stale, and what was acknowledged is there once, with all that it changed."""
    service = CortextSessionService(tmp_path / "kept")
    asyncio.run(service.create_session(**WHO, session_id="s"))
    names = [f"w{number}" for number in range(8)]
    all_do(write, *((tmp_path, name, 10) for name in names))
    session = asyncio.run(service.get_session(**WHO, session_id="s"))
    assert session is not None
    texts = [last_text([event]) or "" for event in session.events]
    assert len(texts) == 80
    for name in names:
        acknowledged = (tmp_path / name).read_text(encoding="utf-8").split()
        assert acknowledged == [f"{name}-{number}" for number in range(10)]
        assert [text for text in texts if text.startswith(f"{name}-")] == acknowledged
        found = [session.state[key] for key in (f"own-{name}", f"user:{name}", f"app:{name}")]
        assert found == [9, 9, 9]
    assert LogStore(tmp_path / "kept").load(ID).message_count == 80


def test_shared_state_log_is_compacted_without_losing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made shorter while others write to it, and no change is lost."""
    monkeypatch.setattr(adk_session_storage, "MOST_CHANGES", 5)
    service = CortextSessionService(tmp_path / "kept")
    asyncio.run(service.create_session(**WHO, session_id="s"))
    names = [f"w{number}" for number in range(4)]
    writers = [FORK.Process(target=write, args=(tmp_path, name, 25)) for name in names]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        readers = [CortextSessionService(tmp_path / "kept") for _ in range(2)]
        for reader in readers:
            asyncio.run(reader.get_user_state(**WHO))
    assert [writer.exitcode for writer in writers] == [0] * 4
    for _ in range(2):
        state = asyncio.run(service.get_user_state(**WHO))
        assert state == dict.fromkeys(names, 24)
    states = LogStore(tmp_path / "kept" / "state")
    assert states.load(id_of("user", APP, USER)).message_count <= 5


def test_one_of_concurrent_create_session_calls_succeeds(tmp_path: Path) -> None:
    """The others are told that there is one."""
    ready, outcome = FORK.Barrier(4), FORK.Queue()
    makers = [FORK.Process(target=create, args=(tmp_path, ready, outcome)) for _ in range(4)]
    for maker in makers:
        maker.start()
    got = sorted(outcome.get(timeout=60) for _ in makers)
    for maker in makers:
        maker.join(60)
    assert got == ["exists", "exists", "exists", "made"]


@pytest.mark.parametrize("mended", [False, True])
def test_model_is_told_of_interrupted_call_after_crash(
    mended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while a tool is at work: the model is told, in this run and in later ones; in the same
    way when doctor has said so in the session."""
    dies("google_adk", "crash_in_a_tool", tmp_path)
    if mended:
        monkeypatch.setattr(
            "cortext.features.doctor.salvage.missing_tool_results.RESTS", timedelta(0)
        )
        mend = check_log(str(tmp_path), ID).mend
        assert mend is not None
        mend.do()
        assert LogStore(tmp_path).load(ID).messages[-1].role == "tool"
    service = CortextSessionService(tmp_path)
    runner, script = speaker(service, "it was cut off", "as I said")
    assert last_text(asyncio.run(run(runner, "s", "what happened?"))) == "it was cut off"
    assert last_text(asyncio.run(run(runner, "s", "again?"))) == "as I said"
    for contents in script.seen:
        parts = [part for content in contents for part in content.parts or ()]
        (told,) = [part.function_response for part in parts if part.function_response]
        assert (told.name, told.response) == ("crash", {"error": INTERRUPTED})
    # It is said to the model, and written nowhere.
    assert all(INTERRUPTED not in one.content for one in LogStore(tmp_path).load(ID).messages)


@pytest.mark.filterwarnings("ignore:.EXPERIMENTAL.")
def test_resumable_app_repeats_interrupted_call_after_crash(tmp_path: Path) -> None:
    """Where the app is resumable, the call is made again: it is open as long as nobody goes on."""
    dies("google_adk", "crash_in_a_tool", tmp_path)
    service = CortextSessionService(tmp_path)
    _, script = speaker(service, "at last")
    tools = [FunctionTool(harmless)]
    agent = LlmAgent(name="clerk", model=script, tools=tools)
    config = ResumabilityConfig(is_resumable=True)
    app = App(name=APP, root_agent=agent, resumability_config=config)
    runner = Runner(app=app, session_service=service)

    async def main() -> list[Event]:
        session = await service.get_session(**WHO, session_id="s")
        assert session is not None
        invocation = session.events[0].invocation_id
        events = runner.run_async(user_id=USER, session_id="s", invocation_id=invocation)
        return [event async for event in events]

    texts = [last_text([event]) for event in asyncio.run(main())]
    assert "at last" in texts
    parts = [part for content in script.seen[-1] for part in content.parts or ()]
    (found,) = [part.function_response for part in parts if part.function_response]
    assert found.response == {"result": "harmless x"}


def test_call_is_confirmed_in_another_process_after_crash(tmp_path: Path) -> None:
    """A call waits for a yes, its process is killed, and the call is confirmed here."""
    dies("google_adk", "wait_for_approval_and_crash", tmp_path)
    head = LogStore(tmp_path).head(ID)
    ((id, name),) = head.pending["calls"].items()
    assert (head.owner, name) == (USER, "adk_request_confirmation")
    service = CortextSessionService(tmp_path)
    runner, script = speaker(service, "done")
    events = asyncio.run(run(runner, "s", answer(id, name, {"confirmed": True})))
    assert last_text(events) == "done"
    told = [part.function_response for content in script.seen[-1] for part in content.parts or ()]
    assert [one.response for one in told if one and one.name == "pay"] == [{"result": "paid 3"}]
    assert LogStore(tmp_path).head(ID).pending is None


def test_long_running_call_gets_result_in_another_process_after_crash(tmp_path: Path) -> None:
    """A tool takes a while, its process is killed, and what it found is given here."""
    dies("google_adk", "wait_for_the_boss_and_crash", tmp_path)
    head = LogStore(tmp_path).head(ID)
    ((id, name),) = head.pending["calls"].items()
    assert name == "ask_the_boss"
    runner, script = speaker(CortextSessionService(tmp_path), "the boss agrees")
    events = asyncio.run(run(runner, "s", answer(id, name, {"status": "yes"})))
    assert last_text(events) == "the boss agrees"
    told = [part.function_response for content in script.seen[-1] for part in content.parts or ()]
    assert [one.response for one in told if one] == [{"status": "yes"}]
    assert LogStore(tmp_path).head(ID).pending is None
