"""Commands that go over many things: the exit code tells whether one was left out."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cortext.cli.commands import sync
from tests.cli.list_terminal import listed, put
from tests.command import cortext, ok
from tests.features.archive.archived_sessions import say


@pytest.fixture
def moved_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no tool was used yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_sync_exits_1_for_damaged_source_with_quiet_and_json(moved_home: Path) -> None:
    """For scripts: 1 where a source could not be kept, `--quiet` and `--json` as well."""
    database = moved_home / "data/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 1000)
    quiet = cortext(moved_home, "sync", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")
    told = cortext(moved_home, "sync", "--json")
    assert (told.returncode, len(json.loads(told.stdout)["errors"])) == (1, 1)
    assert cortext(moved_home, "sync", "--tools", "claude").returncode == 0


def test_sync_exits_1_when_transcript_folder_is_unreadable(
    moved_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it was not kept: it is named, and the exit code says so."""
    folder, real = say(moved_home, "one").parent, os.scandir

    def scandir(path: Any = ".") -> Any:
        if os.fspath(path) == str(folder):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))
        return real(path)

    assert CliRunner().invoke(sync.command, []).exit_code == 0
    monkeypatch.setattr(os, "scandir", scandir)
    assert CliRunner().invoke(sync.command, []).exit_code == 1


def test_clean_exits_1_and_keeps_damaged_conversation(space: Path) -> None:
    """One that is damaged is named and kept, the others go, and a script can tell."""
    old = 40 * 1440
    for number in (1, 2, 3):
        put(space, f"00{number}-plan-old", "hello", status="completed", minutes=old)
    ok(space, "list")
    (lines,) = space.glob("conversations/*/002-plan-old/.session/messages.jsonl")
    lines.unlink()
    lines.mkdir()
    done = cortext(space, "clean", "30", "--yes")
    assert (done.returncode, done.stderr.count("not deleted: ")) == (1, 1)
    assert ("[Errno" in done.stderr, "2 conversations moved" in done.stdout) == (False, True)
    assert list(listed(space)) == ["002-plan-old"]
    again = cortext(space, "clean", "30", "--yes")
    assert (again.returncode, "No completed" in again.stderr) == (1, True)
