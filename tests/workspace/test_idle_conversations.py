"""What `Workspace.list` says of conversations without activity."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import Workspace
from tests.command import change_head, ok


@pytest.fixture
def idle_workspace(tmp_path: Path) -> Workspace:
    """Two active conversations, one without activity for six minutes."""
    workspace = Workspace.init(tmp_path)
    workspace.new("plan", "Fresh")
    idle = workspace.new("plan", "Idle").session.id
    when = datetime.now(UTC) - timedelta(minutes=6)
    change_head(tmp_path, idle, last_active=when.isoformat())
    return workspace


def statuses(workspace: Workspace) -> dict[str, str]:
    return {summary.title: summary.status for summary in workspace.list()}


def test_workspace_list_agrees_with_list_command_on_idle_conversations(
    idle_workspace: Workspace,
) -> None:
    before = statuses(idle_workspace)
    rows = json.loads(ok(Path(idle_workspace.root), "list", "--json"))
    assert before == {row["title"]: row["status"] for row in rows}
    assert before == {"Fresh": "active", "Idle": "paused"}
    assert statuses(idle_workspace) == before


def test_workspace_list_never_pauses_with_pause_minutes_0(
    idle_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORTEXT_SESSIONS_PAUSE_MINUTES", "0")
    assert statuses(idle_workspace) == {"Fresh": "active", "Idle": "active"}
