"""Sessions come back as they were, with their state and what other programs said."""

import asyncio
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from cortext.adapters.google_adk import CortextSessionService, register
from cortext.adapters.google_adk.adk_events import INTERRUPTED
from cortext.adapters.session_log import id_of
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.google_adk.scenes import APP, USER, call, last_text, run, speaker
from tests.adapters.google_adk.service_checks import (
    WHO,
    check_events_round_trip,
    check_service_steps,
    text,
)

ID = id_of(APP, USER, "s")


def test_events_round_trip_byte_for_byte(kept_place: Any) -> None:
    """Byte for byte, from the service that added it and from another."""
    check_events_round_trip(kept_place)


def test_session_service_behaves_like_in_memory_service(kept_place: Any) -> None:
    """The same steps give the same here and in the framework's own service."""
    check_service_steps(kept_place)


def test_changing_returned_session_does_not_change_store(tmp_path: Path) -> None:
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


def test_append_event_keeps_different_event_with_same_id(tmp_path: Path) -> None:
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


def test_session_is_readable_as_plain_log_store(tmp_path: Path) -> None:
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


def test_append_event_keeps_existing_bytes_and_file(tmp_path: Path) -> None:
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


def test_run_continues_session_of_another_program(tmp_path: Path) -> None:
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


def test_late_result_replaces_interrupted_notice_of_call(tmp_path: Path) -> None:
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


def test_unreadable_event_is_skipped_and_stays_in_file(tmp_path: Path) -> None:
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


def test_register_adds_cortext_uri_scheme_to_adk(tmp_path: Path) -> None:
    """`cortext:PATH` is a URI of the adk command once it is registered."""
    from google.adk.cli.service_registry import get_service_registry

    register()
    registry = get_service_registry()
    service = registry.create_session_service(f"cortext:{tmp_path}/kept", agents_dir=".")
    assert isinstance(service, CortextSessionService)
    asyncio.run(service.create_session(**WHO, session_id="s"))
    assert LogStore(tmp_path / "kept").exists(ID)
    assert isinstance(registry.create_session_service("cortext:"), CortextSessionService)
