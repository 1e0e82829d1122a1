"""Sessions come back as they were, with their state and what other programs said."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from cortext.adapters.google_adk import CortextSessionService, register
from cortext.adapters.google_adk.adk_events import INTERRUPTED
from cortext.adapters.session_log import id_of
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.google_adk.scenes import APP, USER, call, last_text, run, speaker

WHO: dict[str, Any] = {"app_name": APP, "user_id": USER}
ID = id_of(APP, USER, "s")
PARTS: list[list[types.Part]] = [
    [types.Part(text="plain")],
    [types.Part(text="hm", thought=True, thought_signature=b"\xff\xfe"), types.Part(text="so")],
    [types.Part(text="line\u2028separator \x00 \U0001f600")],
    [types.Part(inline_data=types.Blob(data=b"\x89\xff", mime_type="image/png"))],
    [types.Part(file_data=types.FileData(file_uri="gs://b/x.pdf", mime_type="application/pdf"))],
    [types.Part(executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON)),
     types.Part(code_execution_result=types.CodeExecutionResult(
         outcome=types.Outcome.OUTCOME_OK, output="2"))],
    [types.Part(text="let me see"), types.Part(function_call=types.FunctionCall(
         id="c1", name="f", args={"a": None, "n": 10**30, "x": 1e22})),
     types.Part(function_call=types.FunctionCall(id="c2", name="g", args={}))],
    [types.Part(function_response=types.FunctionResponse(
         id="c1", name="f", response={"result": "text"})),
     types.Part(function_response=types.FunctionResponse(
         id="c2", name="g", response={"deep": {"k": [1, None]}}))],
]  # fmt: skip
ACTIONS = [
    EventActions(state_delta={"k": None, "d": {"x": [1]}, "user:u": 1, "app:a": "b"}),
    EventActions(artifact_delta={"a.txt": 3}, transfer_to_agent="other", escalate=True),
    EventActions(requested_tool_confirmations={"c1": ToolConfirmation(hint="sure?", payload=[1])}),
    EventActions(compaction=EventCompaction(
        start_timestamp=1.5, end_timestamp=2.5,
        compacted_content=types.Content(role="model", parts=[types.Part(text="short")]))),
    EventActions(agent_state={"step": 3}, end_of_agent=True, rewind_before_invocation_id="i0"),
]  # fmt: skip


def every_event() -> list[Event]:
    said = [
        Event(author="clerk", invocation_id="i", content=types.Content(role="model", parts=parts))
        for parts in PARTS
    ]
    done = [Event(author="clerk", invocation_id="i", actions=actions) for actions in ACTIONS]
    other = Event(author="user", invocation_id="i", branch="a.b", long_running_tool_ids={"z", "c"},
                  custom_metadata={"k": 1}, error_code="E", error_message="no", turn_complete=True,
                  output={"a": None}, timestamp=1234.000001)  # fmt: skip
    return [*said, *done, other]


def text(author: str, what: str, invocation: str = "i", **actions: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=what)])
    return Event(author=author, invocation_id=invocation, content=content,
                 actions=EventActions(**actions))  # fmt: skip


def dumped(events: list[Event]) -> list[str]:
    return [event.model_dump_json() for event in events]


def test_every_event_comes_back(place: Any) -> None:
    """Byte for byte, from the service that added it and from another."""

    async def main() -> None:
        service = CortextSessionService(place)
        session = await service.create_session(**WHO, session_id="every/thing")
        given = every_event()
        before = dumped(given)
        for event in given:
            await service.append_event(session, event)
        assert dumped(session.events) == before
        others = [service] if place == "memory:" else [service, CortextSessionService(place)]
        for other in others:
            found = await other.get_session(**WHO, session_id="every/thing")
            assert found is not None
            assert dumped(found.events) == before
            assert found.state == {"k": None, "d": {"x": [1]}, "user:u": 1, "app:a": "b"}

    asyncio.run(main())


def test_what_a_service_must_do(place: Any) -> None:
    """The same steps give the same here and in the framework's own service."""
    mine = asyncio.run(_steps(CortextSessionService(place)))
    assert mine == asyncio.run(_steps(InMemorySessionService()))


async def _steps(service: Any) -> list[Any]:
    seen: list[Any] = []
    seen.append(await service.get_session(**WHO, session_id="s"))
    state = {"own": 1, "user:lang": "no", "app:name": "x", "temp:t": 1}
    session = await service.create_session(**WHO, session_id=" s ", state=state)
    seen += [session.id, dict(session.state), list(session.events)]
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**WHO, session_id="s")
    for number in range(4):
        event = text("user", f"m{number}", state_delta={"n": number, "temp:x": number})
        event.timestamp = 1000.0 + number
        await service.append_event(session, event)
    seen += [dict(session.state), session.last_update_time]
    partial = text("clerk", "part")
    partial.partial = True
    await service.append_event(session, partial)
    again = await service.get_session(**WHO, session_id="s")
    seen += [again.state, [last_text([event]) for event in again.events], again.last_update_time]
    await service.append_event(again, again.events[-1])
    for config in (
        GetSessionConfig(num_recent_events=2),
        GetSessionConfig(num_recent_events=0),
        GetSessionConfig(after_timestamp=1002.0),
        GetSessionConfig(after_timestamp=9999.0),
    ):
        part = await service.get_session(**WHO, session_id="s", config=config)
        seen.append([last_text([event]) for event in part.events])
    other = await service.create_session(app_name=APP, user_id="bob", session_id="s")
    seen.append(dict(other.state))
    await service.append_event(
        other, text("user", "x", state_delta={"app:name": "y", "user:lang": "de"})
    )
    seen.append(await service.get_user_state(**WHO))
    seen.append(await service.get_user_state(app_name=APP, user_id="nobody"))
    seen.append((await service.get_session(**WHO, session_id="s")).state)
    await service.create_session(app_name="else", user_id=USER, session_id="e")
    for user in (USER, "bob", "nobody", None):
        found = await service.list_sessions(app_name=APP, user_id=user)
        seen.append([(one.id, one.user_id, one.state, one.events) for one in found.sessions])
    made = await service.create_session(**WHO)
    seen.append(bool(made.id))
    await service.delete_session(**WHO, session_id=made.id)
    await service.delete_session(**WHO, session_id="s")
    await service.delete_session(**WHO, session_id="s")
    seen.append(await service.get_session(**WHO, session_id="s"))
    with pytest.raises(SessionNotFoundError):
        await service.append_event(again, text("user", "late"))
    seen.append(await service.get_user_state(**WHO))
    anew = await service.create_session(**WHO, session_id="s")
    seen += [anew.state, anew.events]
    return seen


def test_what_is_given_is_the_callers_own(tmp_path: Path) -> None:
    """Whoever changes it changes nothing that is kept."""

    async def main() -> None:
        service = CortextSessionService(tmp_path)
        session = await service.create_session(**WHO, session_id="s", state={"d": {"k": 1}})
        await service.append_event(session, text("user", "hi", state_delta={"user:d": {"k": 1}}))
        for _ in range(2):
            found = await service.get_session(**WHO, session_id="s")
            assert found is not None
            assert (found.state["d"], found.state["user:d"]) == ({"k": 1}, {"k": 1})
            assert last_text(found.events) == "hi"
            found.state["d"]["k"] = found.state["user:d"]["k"] = 2
            found.events[0].content.parts[0].text = "changed"  # type: ignore[union-attr,index]

    asyncio.run(main())


def test_another_event_with_the_same_id(tmp_path: Path) -> None:
    """It is kept too; the same one again is not."""

    async def main() -> None:
        service = CortextSessionService(tmp_path)
        session = await service.create_session(**WHO, session_id="s")
        one, two = text("user", "one"), text("user", "two", state_delta={"user:k": 2})
        one.id = two.id = "same"
        for event in (one, two, one, two):
            await CortextSessionService(tmp_path).append_event(session, event)
        found = await service.get_session(**WHO, session_id="s")
        assert found is not None
        assert [last_text([event]) for event in found.events] == ["one", "two"]
        assert found.state == {"user:k": 2}

    asyncio.run(main())


def test_the_folder_is_a_plain_log_store(tmp_path: Path) -> None:
    """What people and other programs see: roles, texts, calls, results, owner, title."""
    service = CortextSessionService(tmp_path)
    asyncio.run(service.create_session(**WHO, session_id="s"))
    runner, _ = speaker(service, call("look_up", key="x"), "here it is")
    assert last_text(asyncio.run(run(runner, "s", "find x"))) == "here it is"
    session = LogStore(tmp_path).load(ID)
    assert (session.owner, session.title) == (USER, "find x")
    asked, called, found, said = [one for one in session.messages if one.role != "system"]
    assert (asked.role, asked.content) == ("user", "find x")
    assert called.tool_calls is not None
    (made,) = called.tool_calls
    assert (made["name"], made["arguments"]) == ("look_up", {"key": "x"})
    assert (found.role, found.content, found.tool_call_id) == ("tool", "found x", made["id"])
    assert (said.role, said.content) == ("assistant", "here it is")
    assert LogStore(tmp_path).list_session_ids() == [ID]


def test_an_append_adds_only_what_is_new(tmp_path: Path) -> None:
    """The bytes that were there stay where they are."""
    service = CortextSessionService(tmp_path)
    session = asyncio.run(service.create_session(**WHO, session_id="s"))
    asyncio.run(service.append_event(session, text("user", "first")))
    path = tmp_path / f"{ID}.jsonl"
    before, inode = path.read_bytes(), path.stat().st_ino
    asyncio.run(service.append_event(session, text("user", "more")))
    asyncio.run(service.append_event(session, text("clerk", "and more")))
    after = path.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 2
    assert path.stat().st_ino == inode


def test_what_was_begun_elsewhere_goes_on(tmp_path: Path) -> None:
    """A session of another program is continued by a real run; one that is somebody else's not."""
    LogStore(tmp_path).save(Session("s", messages=[
        SessionMessage("user", "look"),
        SessionMessage("assistant", "I look", tool_calls=[
            {"id": "c1", "name": "find", "arguments": {"q": 1}},
            {"id": "c2", "name": "Read", "arguments": {}, "result": "the text"}]),
        SessionMessage("tool", "found it", tool_call_id="c1"),
        SessionMessage("assistant", "", tool_calls=[{"id": "c9", "name": "t", "arguments": {}}]),
    ]))  # fmt: skip
    LogStore(tmp_path).save(Session("bobs", owner="bob"))
    service = CortextSessionService(tmp_path)
    runner, script = speaker(service, "it is here")
    assert last_text(asyncio.run(run(runner, "s", "so?"))) == "it is here"
    sent = str(script.seen[0])
    for words in ("look", "I look", "the text", "found it", INTERRUPTED, "so?"):
        assert words in sent
    assert asyncio.run(service.get_session(**WHO, session_id="bobs")) is None
    kept = LogStore(tmp_path).load("s")
    assert [(one.role, one.content) for one in kept.messages if one.content][-2:] == [
        ("user", "so?"),
        ("assistant", "it is here"),
    ]


def test_a_call_without_a_result_in_the_middle(tmp_path: Path) -> None:
    """The model is told; a result that comes later is the one that counts."""

    async def main() -> None:
        service = CortextSessionService(tmp_path)
        session = await service.create_session(**WHO, session_id="s")
        given = types.FunctionCall(id="c1", name="look_up", args={"key": "x"})
        called = types.Content(role="model", parts=[types.Part(function_call=given)])
        await service.append_event(session, text("user", "a", "i1"))
        await service.append_event(
            session, Event(author="clerk", invocation_id="i1", content=called)
        )
        open_call = await service.get_session(**WHO, session_id="s")
        assert open_call is not None
        assert len(open_call.events) == 2  # its run may still go on
        await service.append_event(session, text("user", "b", "i2"))
        await service.append_event(session, text("clerk", "fine", "i2"))
        runner, script = speaker(service, "goes on")
        assert last_text(await run(runner, "s", "c")) == "goes on"
        assert INTERRUPTED in str(script.seen[0])
        late = types.FunctionResponse(id="c1", name="look_up", response={"result": "late"})
        came = types.Content(role="user", parts=[types.Part(function_response=late)])
        await service.append_event(session, Event(author="clerk", invocation_id="i1", content=came))
        found = await service.get_session(**WHO, session_id="s")
        assert INTERRUPTED not in str(found)

    asyncio.run(main())


def test_an_event_that_cannot_be_read(tmp_path: Path) -> None:
    """As one of a later version: it is passed over and stays in the file."""
    service = CortextSessionService(tmp_path)
    session = asyncio.run(service.create_session(**WHO, session_id="s"))
    for what in "abc":
        asyncio.run(service.append_event(session, text("user", what)))
    path = tmp_path / f"{ID}.jsonl"
    changed = path.read_text(encoding="utf-8").replace('[{"text":"b"}]', '"of a later version"')
    path.write_text(changed, encoding="utf-8")
    service = CortextSessionService(tmp_path)
    found = asyncio.run(service.get_session(**WHO, session_id="s"))
    assert found is not None
    assert [last_text([event]) for event in found.events] == ["a", "c"]
    asyncio.run(service.append_event(found, text("user", "d")))
    assert path.read_text(encoding="utf-8").startswith(changed)


def test_the_scheme(tmp_path: Path) -> None:
    """`cortext:PATH` is a URI of the adk command once it is registered."""
    from google.adk.cli.service_registry import get_service_registry

    register()
    registry = get_service_registry()
    service = registry.create_session_service(f"cortext:{tmp_path}/kept", agents_dir=".")
    assert isinstance(service, CortextSessionService)
    asyncio.run(service.create_session(**WHO, session_id="s"))
    assert LogStore(tmp_path / "kept").exists(ID)
    assert isinstance(registry.create_session_service("cortext:"), CortextSessionService)
