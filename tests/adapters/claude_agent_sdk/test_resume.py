"""A person goes on in Claude Code with what a program of the SDK said."""

import asyncio
from pathlib import Path

import pytest

from cortext.adapters.claude_agent_sdk import CortextSessionStore
from tests.adapters.claude_agent_sdk.transcript_entries import KEY, LINES, SESSION
from tests.adapters.resumed_program import Person


def test_sdk_session_is_listed_found_and_resumed_in_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its owner, by the id that the SDK gave it; the call and its result are text there."""
    person = Person(tmp_path, monkeypatch)
    lines = [{**line, "cwd": str(tmp_path)} for line in LINES[:5]]
    asyncio.run(CortextSessionStore().append(KEY, lines))
    assert person.listed("proj") == ["What is here?"]
    assert person.listed("bob") == []
    assert len(person.found("files", "proj")) == 1
    asked, (role, answered) = person.reopened(SESSION)
    assert asked == ("user", "What is here?")
    assert role == "assistant"
    assert "I look." in answered
    assert "ls" in answered
    assert answered.endswith("Two files.")
