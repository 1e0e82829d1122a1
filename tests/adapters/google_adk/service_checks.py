"""What a session service must do, wherever it keeps its sessions."""

import asyncio
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

from cortext.adapters.google_adk import CortextSessionService
from tests.adapters.google_adk.scenes import APP, USER, last_text

WHO: dict[str, Any] = {"app_name": APP, "user_id": USER}
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


def check_events_round_trip(place: Any) -> None:
    """Check that a service, and another one, give back every event byte for byte."""

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


def check_service_steps(place: Any) -> None:
    """Check that each step has the same result as in the framework's own service."""
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
