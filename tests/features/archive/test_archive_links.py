"""Links among the tools' folders: people have them, and none leads the archive elsewhere."""

import json
import os
from pathlib import Path

import pytest

from cortext.features.archive.archive_copy_states import folder_of
from cortext.features.archive.archive_sync import sync
from cortext.tools.registry import open_bridge
from tests.command import cortext
from tests.features.archive.archived_sessions import archived, other, say

SECRET = {"type": "user", "message": {"role": "user", "content": "a secret"}}


@pytest.fixture(autouse=True)
def linked_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.parametrize("linked", [".claude", ".claude/projects", "its own"])
def test_sync_follows_symlinked_tool_folder(linked: str, linked_home: Path) -> None:
    """As people keep their dotfiles, or have moved what is large to another disk."""
    path = say(linked_home, "Hello.")
    folder = linked_home / linked if linked.startswith(".") else path.parent
    elsewhere = linked_home / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert sync().errors == []
    assert list(archived().values()) == [["Hello."]]


def test_sync_reports_transcript_link_that_leaves_tool_folder(linked_home: Path) -> None:
    """It is named, the others are copied, and `cortext sync` says so without failing."""
    path = say(linked_home, "Hello.")
    outside = linked_home / "notes.jsonl"
    outside.write_text(json.dumps(SECRET) + "\n", encoding="utf-8")
    for number, target in enumerate((outside, Path("../../../notes.jsonl"), Path("/etc/passwd"))):
        (path.parent / f"{other(number)}.jsonl").symlink_to(target)
    result = sync()
    assert [error.path for error in result.errors] == [
        str(path.parent / f"{other(number)}.jsonl") for number in range(3)
    ]
    assert all(
        "a link to a path outside the tool's folder" in error.reason for error in result.errors
    )
    assert list(archived().values()) == [["Hello."]]
    copies = [name for _, _, names in os.walk(folder_of("claude")) for name in names]
    assert copies == [f"{path.name}.gz"]
    done = cortext(linked_home, "sync")
    assert "a link to a path outside the tool's folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_sync_copies_transcript_link_within_tool_folder(linked_home: Path) -> None:
    """Within the tool's folder, also where that is a link itself."""
    path = say(linked_home, "Hello.")
    (linked_home / ".claude").rename(linked_home / "dotfiles")
    (linked_home / ".claude").symlink_to(linked_home / "dotfiles")
    (path.parent / f"{other(1)}.jsonl").symlink_to(path.name)
    assert sync().errors == []
    assert sorted(archived().values()) == [["Hello."], ["Hello."]]


@pytest.mark.parametrize("tool", ["codex", "gemini"])
def test_sync_reports_codex_and_gemini_links_that_leave_tool_folder(
    tool: str, linked_home: Path
) -> None:
    """A link to outside in each place where a transcript may be."""
    outside = linked_home / "notes.jsonl"
    outside.write_text(json.dumps(SECRET) + "\n", encoding="utf-8")
    name = {
        "codex": f"sessions/2026/01/02/rollout-2026-01-02T03-04-05-{other(1)}.jsonl",
        "gemini": f"tmp/project/chats/session-2026-01-02T03-04-{other(1)[:8]}.jsonl",
    }[tool]
    path = linked_home / f".{tool}" / name
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert [error.path for error in sync().errors] == [str(path)]
    assert list(open_bridge(tool, folder_of(tool)).sources()) == []


def test_sync_and_list_ignore_broken_links(linked_home: Path) -> None:
    path = say(linked_home, "Hello.")
    (path.parent / f"{other(1)}.jsonl").symlink_to("nowhere.jsonl")
    (path.parent / f"{other(2)}.jsonl").symlink_to(f"{other(2)}.jsonl")
    (path.parent.parent / "loop").symlink_to("loop")
    assert sync().errors == []
    assert list(archived().values()) == [["Hello."]]
    listed = cortext(linked_home, "list", "--all")
    assert (listed.returncode, "Traceback" in listed.stderr) == (0, False), listed.stderr
    assert "Hello." in listed.stdout
