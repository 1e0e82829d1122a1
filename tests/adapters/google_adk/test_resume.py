"""A person goes on in Claude Code with what an agent of the framework said."""

import asyncio
from pathlib import Path

import pytest

from cortext.adapters.google_adk import CortextSessionService
from cortext.adapters.session_log import id_of
from tests.adapters.google_adk.scenes import APP, USER, call, run, speaker
from tests.adapters.resumed_program import Person


def test_adk_session_is_listed_found_and_resumed_in_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its owner; the call and its result are text there."""
    person = Person(tmp_path, monkeypatch)

    async def main() -> None:
        service = CortextSessionService()
        await service.create_session(app_name=APP, user_id=USER, session_id="s")
        runner, _ = speaker(service, call("look_up", key="parcel 17"), "In Bergen.")
        await run(runner, "s", "Where is my parcel?")

    asyncio.run(main())
    assert person.listed(USER) == ["Where is my parcel?"]
    assert person.listed("bob") == []
    assert person.found("bergen", USER) == {id_of(APP, USER, "s")}
    asked, (role, answered) = person.reopened("s")
    assert asked == ("user", "Where is my parcel?")
    assert role == "assistant"
    assert "look_up" in answered
    assert "found parcel 17" in answered
    assert answered.endswith("In Bergen.")
