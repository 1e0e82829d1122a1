"""Whose a session is, and which result belongs to which call."""

import asyncio
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from cortext.adapters.google_adk import CortextSessionService
from cortext.adapters.google_adk.adk_events import INTERRUPTED
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.google_adk.scenes import APP, USER, answer, last_text, run, speaker

WHO: dict[str, Any] = {"app_name": APP, "user_id": USER}


def test_get_and_delete_ignore_session_of_another_user(tmp_path: Path) -> None:
    """App, user and id name a session; of one that another program keeps, its owner decides."""
    said = [SessionMessage("user", "private")]
    LogStore(tmp_path).save(Session("bobs", owner="bob", messages=said))

    async def main() -> None:
        service = CortextSessionService(tmp_path)
        await service.create_session(app_name=APP, user_id="bob", session_id="s")
        for id in ("s", "bobs"):
            assert await service.get_session(**WHO, session_id=id) is None
            await service.delete_session(**WHO, session_id=id)
            assert await service.get_session(app_name=APP, user_id="bob", session_id=id)
        assert await service.get_session(**WHO, session_id="") is None

    asyncio.run(main())


def test_list_sessions_includes_owned_sessions_of_other_frameworks(tmp_path: Path) -> None:
    """For the user who owns it, in every app; not for others."""
    said = [SessionMessage("user", "begun elsewhere")]
    for id, owner in (("hers", USER), ("bobs", "bob"), ("nobodys", "")):
        LogStore(tmp_path).save(Session(id, owner=owner, messages=said))

    async def main() -> None:
        service = CortextSessionService(tmp_path)
        await service.create_session(**WHO, session_id="s")
        listed = (await service.list_sessions(**WHO)).sessions
        assert sorted(one.id for one in listed) == ["hers", "s"]
        for one in listed:
            assert await service.get_session(**WHO, session_id=one.id)
        other = await service.list_sessions(app_name="other", user_id=USER)
        assert [one.id for one in other.sessions] == ["hers"]

    asyncio.run(main())


def _called(invocation: str, key: str) -> Event:
    given = types.FunctionCall(id="c1", name="look_up", args={"key": key})
    content = types.Content(role="model", parts=[types.Part(function_call=given)])
    return Event(author="clerk", invocation_id=invocation, content=content)


def test_model_sees_own_result_for_each_call_with_reused_id(tmp_path: Path) -> None:
    """A call was cut off, and a later one with its id was answered: the model is told both."""

    async def main() -> list[types.Content]:
        service = CortextSessionService(tmp_path)
        session = await service.create_session(**WHO, session_id="s")
        came = answer("c1", "look_up", {"result": "sunny"})
        hello = types.Content(role="user", parts=[types.Part(text="hello")])
        for event in (
            Event(author="user", invocation_id="i1", content=hello),
            _called("i1", "a"),
            Event(author="user", invocation_id="i2", content=hello),
            _called("i2", "b"),
            Event(author="clerk", invocation_id="i2", content=came),
        ):
            await service.append_event(session, event)
        runner, script = speaker(service, "fine")
        assert last_text(await run(runner, "s", "so?")) == "fine"
        return script.seen[0]

    parts = [part for content in asyncio.run(main()) for part in content.parts or ()]
    steps = [
        part.function_call.args if part.function_call else part.function_response.response
        for part in parts
        if part.function_call or part.function_response
    ]
    assert steps == [{"key": "a"}, {"error": INTERRUPTED}, {"key": "b"}, {"result": "sunny"}]
