"""What is searched for from inside a session of a tool is not that session."""

import json
from pathlib import Path

from tests.command import begin, ok
from tests.features.slash.slash_input import ID


def asked(tmp_path: Path, cwd: Path, text: str) -> None:
    """What a person said first in this session: lists call it by that."""
    line = {"type": "user", "uuid": "1", "parentUuid": None, "cwd": str(cwd), "sessionId": ID}
    line |= {"timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": text}}
    folder = tmp_path / "claude/projects/x"
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")


def test_slash_briefing_does_not_match_calling_session(claude_space: Path, tmp_path: Path) -> None:
    """An agent that is asked to go on with something finds that, and is not asked which."""
    begin(claude_space, "plan", "Long story", "Once upon a time.")
    asked(tmp_path, claude_space, "Go on with the long story")
    assert "Go on with the long story" in ok(claude_space, "list", "--all")
    told = ok(claude_space, "slash", "briefing", "long story")
    assert "Conversation: plan / Long story" in told
    assert "| Once upon a time." in told


def test_slash_briefing_omits_calling_session_from_matches(
    claude_space: Path, tmp_path: Path
) -> None:
    """To choose from."""
    begin(claude_space, "plan", "Long story of paging")
    begin(claude_space, "plan", "Long story of search")
    asked(tmp_path, claude_space, "Go on with the long story")
    told = ok(claude_space, "slash", "briefing", "long story")
    assert '2 conversations match "long story":' in told
    assert "Go on with" not in told
