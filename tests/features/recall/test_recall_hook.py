"""The hook that passes recall to Claude Code: when it answers, and that it never fails."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.features.capture.hook_events import hook
from cortext.features.recall import session_recall
from cortext.tools.claude.recall_condition import takes_recall
from tests.cli.claude_person import Person
from tests.command import cortext

SESSION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(autouse=True)
def decision(recall_person: Person, project: Path) -> None:
    """Something was decided in the repository."""
    recall_person.say(project, ["We decided to keep SQLite.", "Ok."])


def payload_of(project: Path, source: str) -> dict[str, Any]:
    home = Path.home() / ".claude/projects" / str(project).replace("/", "-")
    transcript = str(home / f"{SESSION}.jsonl")
    place = {"session_id": SESSION, "transcript_path": transcript, "cwd": str(project)}
    return {**place, "hook_event_name": "SessionStart", "source": source}


def answer(project: Path, source: str, event: str = "SessionStart") -> dict[str, Any]:
    return hook("claude", event, payload_of(project, source), recall=True)


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_session_start_and_compaction_get_recall(source: str, project: Path) -> None:
    output = answer(project, source)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "We decided to keep SQLite." in output["additionalContext"]


@pytest.mark.parametrize("source", ["resume", "fork", "", "unknown"])
def test_resumed_and_copied_sessions_get_no_recall(source: str, project: Path) -> None:
    assert answer(project, source) == {}


def test_other_events_get_no_recall(project: Path) -> None:
    assert answer(project, "startup", "UserPromptSubmit") == {}


def test_hook_without_option_says_nothing(project: Path) -> None:
    assert hook("claude", "SessionStart", payload_of(project, "startup")) == {}


def test_tool_without_recall_gets_none(project: Path) -> None:
    assert hook("gemini", "SessionStart", payload_of(project, "startup"), recall=True) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ("claude", "/workspace.resume 3"),
        ("claude", "-p", "/workspace.plan the cache"),
        ("claude", "/cortext cache"),
        ("claude", "-p", "--no-session-persistence"),
    ],
)
def test_session_with_own_briefing_gets_no_recall(arguments: tuple[str, ...]) -> None:
    assert not takes_recall("startup", arguments)


def test_session_after_clear_gets_recall_even_if_the_first_had_a_briefing() -> None:
    assert takes_recall("clear", ("claude", "/workspace.resume 3"))


@pytest.mark.parametrize("arguments", [("claude",), ("claude", "-p", "look at /workspace"), ()])
def test_ordinary_session_gets_recall(arguments: tuple[str, ...]) -> None:
    assert takes_recall("startup", arguments)


def test_failure_of_recall_is_logged_and_the_session_starts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(session_recall, "make_recall", fail)
    assert answer(project, "startup") == {}
    log = Path(paths.log_file()).read_text("utf-8")
    assert "recalling earlier conversations: RuntimeError: broken" in log


def test_damaged_transcript_does_not_hide_the_others(project: Path) -> None:
    folder = Path(payload_of(project, "startup")["transcript_path"]).parent
    (folder / "22222222-2222-4333-8444-555555555555.jsonl").write_bytes(b"\0\xff{" * 1000)
    (folder / "33333333-2222-4333-8444-555555555555.jsonl").mkdir()
    (folder / "44444444-2222-4333-8444-555555555555.jsonl").symlink_to("/nowhere")
    output = answer(project, "startup")["hookSpecificOutput"]
    assert "We decided to keep SQLite." in output["additionalContext"]


def test_command_prints_recall_as_json(project: Path) -> None:
    payload = json.dumps(payload_of(project, "startup"))
    done = cortext(project, "hook", "claude", "SessionStart", "--recall", payload)
    assert (done.returncode, done.stderr) == (0, "")
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["additionalContext"].startswith("[RECALL ")
    assert cortext(project, "hook", "claude", "SessionStart", payload).stdout == ""


def test_missing_folder_and_transcript_give_no_recall(project: Path) -> None:
    payload = {"session_id": SESSION, "source": "startup", "cwd": str(project / "gone")}
    assert hook("claude", "SessionStart", payload, recall=True) == {}
    assert not Path(paths.log_file()).exists()
