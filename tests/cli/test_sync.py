"""`cortext sync`: what it says, to whom, and how it behaves beside another one."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from cortext.durability.file_lock import FileLock
from cortext.features.archive.archive_sync import skip_session
from tests.command import SCRIPT, cortext, ok
from tests.features.archive.archived_sessions import ID, other, say


@pytest.fixture(autouse=True)
def sync_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no tool was used yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def archive(person: Path) -> Path:
    return person / "data/cortext/archive"


def test_sync_prints_result_and_shows_archive_notice_only_once(sync_home: Path) -> None:
    """Data on stdout; the place and how to turn it off on stderr, the first time only."""
    say(sync_home, "one")
    first = cortext(sync_home, "sync")
    assert first.stdout.startswith("claude  1 transcript, 1 new; ")
    assert f"{archive(sync_home)}, so that they remain" in first.stderr
    assert "`cortext config archive.enabled off`" in first.stderr
    second = cortext(sync_home, "sync")
    assert second.stdout.startswith("claude  1 transcript, nothing new; ")
    assert "outlive" not in second.stderr


def test_sync_reports_no_transcripts_without_error(sync_home: Path) -> None:
    """Where no tool was used, that is said, and it is no error."""
    done = cortext(sync_home, "sync")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No transcripts" in done.stderr


def test_sync_quiet_prints_nothing_even_when_locked(sync_home: Path) -> None:
    """Also not that another one is at work."""
    say(sync_home, "one")
    done = cortext(sync_home, "sync", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with FileLock(str(archive(sync_home) / ".lock")):
        done = cortext(sync_home, "sync", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_sync_json_reports_every_tool(sync_home: Path) -> None:
    """One object, with every tool."""
    say(sync_home, "one")
    found = json.loads(ok(sync_home, "sync", "--json"))
    assert [tool["tool"] for tool in found["tools"]] == ["claude", "opencode", "gemini", "codex"]
    assert (found["tools"][0]["new"], found["errors"]) == (1, [])
    assert found["folder"] == str(archive(sync_home))


def test_sync_and_list_ignore_skipped_session(sync_home: Path) -> None:
    """It is neither copied nor listed, while the tool has it."""
    say(sync_home, "one")
    assert ID in ok(sync_home, "list", "--all", "--json")
    skip_session("claude", ID)
    assert ID not in ok(sync_home, "list", "--all", "--json")
    ok(sync_home, "sync")
    assert not list(archive(sync_home).rglob("*.gz"))


def test_sync_tools_option_limits_tools_and_rejects_unknown_name(sync_home: Path) -> None:
    """Others are left alone; a word that is no tool is a usage error."""
    say(sync_home, "one")
    assert ok(sync_home, "sync", "--tools", "codex, gemini") == ""
    assert not (archive(sync_home) / "claude").exists()
    done = cortext(sync_home, "sync", "--tools", "codx")
    assert (done.returncode, "unknown tool 'codx'" in done.stderr) == (2, True)


def test_second_sync_waits_for_running_sync(sync_home: Path) -> None:
    """It says for whom, and goes on when the other is done."""
    say(sync_home, "one")
    ok(sync_home, "sync")
    with FileLock(str(archive(sync_home) / ".lock")):
        child = subprocess.Popen([SCRIPT, "sync"], stderr=subprocess.PIPE, text=True)
        assert child.stderr is not None
        assert child.stderr.readline().startswith("Waiting for another sync to finish (process ")
        assert child.poll() is None
    assert child.communicate(timeout=30)[1].startswith("archive: ")
    assert child.returncode == 0


def test_sync_fails_with_hint_when_archive_is_off(sync_home: Path) -> None:
    """One sentence and a hint."""
    ok(sync_home, "config", "archive.enabled", "off")
    done = cortext(sync_home, "sync")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the archive is turned off\nhint: `cortext config")


def test_workspace_setting_cannot_turn_archive_off(sync_home: Path) -> None:
    """Somebody else may have made it."""
    (sync_home / "ws/.workspace").mkdir(parents=True)
    done = cortext(sync_home / "ws", "config", "archive.enabled", "off", "--workspace")
    assert done.returncode != 0
    assert "workspace" in done.stderr


def test_sync_warns_about_unreadable_source_and_copies_others(sync_home: Path) -> None:
    """A warning for each; the others are copied."""
    say(sync_home, "one")
    database = sync_home / "data/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 1000)
    done = cortext(sync_home, "sync")
    assert done.stdout.startswith("claude  1 transcript, 1 new")
    assert f"warning: not copied: {database}: " in done.stderr


def test_sync_shows_and_clears_progress_bar_in_terminal(sync_home: Path) -> None:
    """A bar where it takes longer than a moment; it is taken away at the end."""
    for number in range(40):
        say(sync_home, *(os.urandom(200_000).hex() for _ in range(4)), id=other(number))
    ours, theirs = pty.openpty()
    child = subprocess.Popen([SCRIPT, "sync"], stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    said, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            said += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert child.wait(60) == 0
    assert b"MB of 64." in said
    assert said.rpartition(b"\r" + b" " * 70 + b"\r")[2].startswith(b"claude  40 transcripts")


def test_stats_reports_archive_size_without_conversations(sync_home: Path) -> None:
    """`cortext stats` says how large the archive is, also without a conversation of ours."""
    say(sync_home, "words " * 1000)
    ok(sync_home, "sync")
    told = ok(sync_home, "stats")
    assert told.startswith("Archive claude: 1 transcript, ")
    (size,) = json.loads(ok(sync_home, "stats", "--json"))["archive"]
    assert (size["tool"], size["copies"], size["sources"] > size["packed"]) == ("claude", 1, True)


def test_list_starts_background_sync(sync_home: Path) -> None:
    """By the way, and nobody waits for it: afterwards the archive has what the tool had."""
    path = say(sync_home, "Where do the sessions go?")
    assert ID in ok(sync_home, "list", "--all")
    deadline = time.monotonic() + 30
    while not (archive(sync_home) / ".known/claude.json").exists():
        assert time.monotonic() < deadline
    path.unlink()
    assert ID in ok(sync_home, "list", "--all")
    assert "Where do the sessions go?" in ok(sync_home, "show", ID)


def test_sync_never_copies_deleted_session_again(sync_home: Path) -> None:
    """It says that the tool's own file remains, and where; sync does not copy it again."""
    path = say(sync_home, "one")
    ok(sync_home, "sync")
    assert str(path) in ok(sync_home, "delete", ID, "--yes")
    said = ok(sync_home, "sync")
    assert said == "claude  1 transcript skipped, because you deleted its copy\n"
    say(sync_home, "two", id=other(2))
    mixed = ok(sync_home, "sync")
    assert mixed.startswith("claude  1 transcript, 1 new; ")
    assert mixed.endswith("; 1 skipped, because you deleted its copy\n")
    ok(sync_home, "trash", "restore", "1")
    assert "2 transcripts, nothing new" in ok(sync_home, "sync")
