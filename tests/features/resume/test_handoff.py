"""Texts that an agent gets as files of ours: they hold what was said, and do not outlive it."""

import os
import time
from pathlib import Path

import pytest

from cortext import paths
from cortext.features.resume.agent_temp_files import (
    INSTRUCTIONS,
    PIECES,
    folder_of,
    prepare_handoff_dir,
)
from tests.command import begin, ok
from tests.features.secrets.tool_sessions import TOKEN

LONG = f"Use {TOKEN} here.\n" + "It is a long story.\n" * 2000


@pytest.fixture
def handoff_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of a person whose OpenCode takes in no session."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "opencode").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (programs / "opencode").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("CI", "true")
    root = tmp_path / "space"
    root.mkdir()
    ok(root, "init")
    return root


def handed(kind: str) -> list[str]:
    return os.listdir(folder_of(kind)) if os.path.isdir(folder_of(kind)) else []


def hand_over(space: Path) -> str:
    """A conversation that was handed to agents in both ways."""
    id = begin(space, "plan", "Deploy", LONG)
    told = ok(space, "resume", id, "--tool", "opencode", "--print", "--write")
    (name,) = handed(INSTRUCTIONS)
    assert name in told
    assert TOKEN in Path(folder_of(INSTRUCTIONS), name).read_text(encoding="utf-8")
    ok(space, "slash", "briefing", id)
    assert len(handed(PIECES)) == 1
    return id


def test_emptying_trash_deletes_handoff_files(handoff_space: Path) -> None:
    id = hand_over(handoff_space)
    ok(handoff_space, "delete", id, "--yes")
    ok(handoff_space, "trash", "empty", "--yes")
    assert handed(PIECES) + handed(INSTRUCTIONS) == []


def test_trash_expiry_deletes_only_older_handoff_files(handoff_space: Path) -> None:
    """A tool that runs now goes on with its instructions, and an agent gets the next piece."""
    ok(handoff_space, "delete", begin(handoff_space, "plan", "Old"), "--yes")
    (note,) = Path(paths.trash()).glob("*/info.json")
    note.write_bytes(note.read_bytes().replace(b'"deleted_at":"20', b'"deleted_at":"19'))
    hand_over(handoff_space)
    old = Path(folder_of(PIECES), "old")
    old.write_text("x", encoding="utf-8")
    os.utime(old, (0, 0))
    ok(handoff_space, "delete", begin(handoff_space, "plan", "New"), "--yes")
    assert not note.exists()
    assert (len(handed(PIECES)), len(handed(INSTRUCTIONS)), old.exists()) == (1, 1, False)


def test_redact_deletes_handoff_files(handoff_space: Path) -> None:
    id = hand_over(handoff_space)
    ok(handoff_space, "redact", id, "--yes")
    assert handed(PIECES) + handed(INSTRUCTIONS) == []


@pytest.mark.parametrize(("kind", "days"), [(PIECES, 1), (INSTRUCTIONS, 7)])
def test_prepare_handoff_dir_deletes_expired_files(data_home: Path, kind: str, days: int) -> None:
    folder = Path(prepare_handoff_dir(kind))
    for name, age in (("old", days + 0.1), ("new", days - 0.1)):
        (folder / name).write_text("x", encoding="utf-8")
        then = time.time() - age * 86_400
        os.utime(folder / name, (then, then))
    prepare_handoff_dir(kind)
    assert handed(kind) == ["new"]
