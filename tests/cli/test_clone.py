"""A clone of a workspace has what git carries, which may be its conversations alone."""

from pathlib import Path

import pytest

from tests.command import begin, cortext, git, ok


@pytest.mark.usefixtures("git_identity")
def test_git_clone_with_only_conversations_counts_as_workspace(tmp_path: Path) -> None:
    """What a stop committed is listed and resumed, from any folder of the clone."""
    first = tmp_path / "first"
    first.mkdir()
    ok(first, "init")
    git(first, "init", "-q", "-b", "main")
    id = begin(first, "plan", "The launch", "When do we launch?", "In May.")
    ok(first, "stop", id)
    git(tmp_path, "clone", "-q", "first", "second")
    below = tmp_path / "second/src"
    below.mkdir()
    assert not (tmp_path / "second/.workspace").exists()
    assert id in ok(below, "list")
    told = ok(below, "resume", "launch")
    assert "When do we launch?" in told
    assert ok(below, "new", "plan", "Another").startswith(str(tmp_path / "second/conversations"))


def test_conversations_folder_without_session_is_no_workspace(tmp_path: Path) -> None:
    """Without a session in it, it is no workspace: a new one goes to the personal one."""
    (tmp_path / "conversations/2026-01-12/001-plan-x").mkdir(parents=True)
    done = cortext(tmp_path, "new", "plan", "Something")
    assert not done.stdout.startswith(str(tmp_path / "conversations"))
