"""Slash commands and the sessions of tools that conversations were had in."""

import json
import re
from pathlib import Path

import pytest

from tests.command import begin, ok
from tests.features.slash.slash_input import ID, fed


def transcript(space: Path, id: str, *said: str, hour: int = 1) -> None:
    """A session of Claude Code in this folder, the person and the agent in turn."""
    lines: list[str] = []
    for n, text in enumerate(said):
        role = "assistant" if n % 2 else "user"
        line = {
            "type": role,
            "uuid": f"{id[:8]}-{n}",
            "parentUuid": f"{id[:8]}-{n - 1}" if n else None,
            "sessionId": id,
            "cwd": str(space),
            "timestamp": f"2026-01-01T{hour:02}:00:{n:02}.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        lines.append(json.dumps(line))
    folder = space.parent / "claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(space))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{id}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")


def test_slash_briefing_number_opens_tool_session(claude_space: Path) -> None:
    """The one that has it in the list, which says the tool; one that is gone is an error, and so
    is a number that the list did not have."""
    begin(claude_space, "plan", "Something with 2 in it")
    other = "22222222-2222-4333-8444-555555555555"
    transcript(claude_space, other, "How do we make the parser faster?", "By tables.")
    told = ok(claude_space, "slash", "list")
    assert "2. [chat] How do we make the parser faster?\n" in told
    assert "| Status: paused | Tool: claude\n" in told
    assert "error: the last list has no number 7\nhint: " in ok(
        claude_space, "slash", "briefing", "7"
    )
    (path,) = (claude_space.parent / "claude/projects").rglob("*.jsonl")
    data = path.read_bytes()
    path.unlink()
    gone = ok(claude_space, "slash", "briefing", "2")
    assert "error: number 2 of the last list no longer exists\n" in gone
    path.write_bytes(data)
    assert "| By tables." in ok(claude_space, "slash", "briefing", "2")


def test_slash_briefing_captures_transcript_of_unstopped_conversation(
    claude_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no hook takes it, it is taken first."""
    fed(claude_space, "The parser", "new", "plan")
    transcript(claude_space, ID, "/workspace.plan The parser", "It is slow.")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "33333333-2222-4333-8444-555555555555")
    told = fed(claude_space, "the parser", "briefing")
    assert "Messages: 1 exchange" in told
    assert "| It is slow." in told


def test_slash_briefing_prints_only_messages_from_other_sessions(
    claude_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the history it has; while nothing was, it has all."""
    fed(claude_space, "The parser", "new", "plan")
    transcript(claude_space, ID, "/workspace.plan The parser", "It is slow.")
    held = "This session already contains the history."
    assert held in fed(claude_space, "the parser", "briefing")
    other = "33333333-2222-4333-8444-555555555555"
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_CODE_SESSION_ID", other)
        fed(claude_space, "the parser", "briefing")
        transcript(claude_space, other, "Which one?", "The second.", hour=2)
    told = fed(claude_space, "the parser", "briefing")
    assert held not in told
    assert "except for the following messages from elsewhere" in told
    assert "| The second." in told
    assert "| It is slow." not in told
