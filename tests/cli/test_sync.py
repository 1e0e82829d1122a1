"""`cortext sync`: what it says, to whom, and how it behaves beside another one."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from cortext.durability.file_lock import FileLock
from cortext.features.archive.archive_sync import pass_over
from tests.command import SCRIPT, cortext, ok
from tests.features.archive.archived_sessions import ID, other, say


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no tool was used yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def archive(person: Path) -> Path:
    return person / "data/cortext/archive"


def test_it_says_what_it_did_and_once_where_things_are(person: Path) -> None:
    """Data on stdout; the place and how to turn it off on stderr, the first time only."""
    say(person, "one")
    first = cortext(person, "sync")
    assert first.stdout.startswith("claude  1 transcript, 1 new; ")
    assert f"{archive(person)}, so that they outlive" in first.stderr
    assert "`cortext config archive.enabled off`" in first.stderr
    second = cortext(person, "sync")
    assert second.stdout.startswith("claude  1 transcript, nothing new; ")
    assert "outlive" not in second.stderr


def test_nothing_to_copy(person: Path) -> None:
    """Where no tool was used, that is said, and it is no error."""
    done = cortext(person, "sync")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no transcripts" in done.stderr


def test_quiet_says_nothing(person: Path) -> None:
    """Also not that another one is at work."""
    say(person, "one")
    done = cortext(person, "sync", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with FileLock(str(archive(person) / ".lock")):
        done = cortext(person, "sync", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_json(person: Path) -> None:
    """One object, with every tool."""
    say(person, "one")
    found = json.loads(ok(person, "sync", "--json"))
    assert [tool["tool"] for tool in found["tools"]] == ["claude", "opencode", "gemini", "codex"]
    assert (found["tools"][0]["new"], found["errors"]) == (1, [])
    assert found["folder"] == str(archive(person))


def test_session_that_is_kept_elsewhere_is_passed_over(person: Path) -> None:
    """It is neither copied nor listed, while the tool has it."""
    say(person, "one")
    assert ID in ok(person, "list", "--all", "--json")
    pass_over("claude", ID)
    assert ID not in ok(person, "list", "--all", "--json")
    ok(person, "sync")
    assert not list(archive(person).rglob("*.gz"))


def test_only_some_tools(person: Path) -> None:
    """Others are left alone; a word that is no tool is a usage error."""
    say(person, "one")
    assert ok(person, "sync", "--tools", "codex, gemini") == ""
    assert not (archive(person) / "claude").exists()
    done = cortext(person, "sync", "--tools", "codx")
    assert (done.returncode, "'codx' is no tool" in done.stderr) == (2, True)


def test_a_second_one_waits(person: Path) -> None:
    """It says for whom, and goes on when the other is done."""
    say(person, "one")
    ok(person, "sync")
    with FileLock(str(archive(person) / ".lock")):
        child = subprocess.Popen([SCRIPT, "sync"], stderr=subprocess.PIPE, text=True)
        assert child.stderr is not None
        assert child.stderr.readline().startswith("another sync is at work (process ")
        assert child.poll() is None
    assert child.communicate(timeout=30)[1].startswith("archive: ")
    assert child.returncode == 0


def test_turned_off(person: Path) -> None:
    """One sentence and a hint."""
    ok(person, "config", "archive.enabled", "off")
    done = cortext(person, "sync")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the archive is turned off\nhint: `cortext config")


def test_a_workspace_cannot_turn_it_off(person: Path) -> None:
    """Somebody else may have made it."""
    (person / "ws/.workspace").mkdir(parents=True)
    done = cortext(person / "ws", "config", "archive.enabled", "off", "--workspace")
    assert done.returncode != 0
    assert "workspace" in done.stderr


def test_what_cannot_be_copied_is_named(person: Path) -> None:
    """A warning for each; the others are copied."""
    say(person, "one")
    database = person / "data/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 1000)
    done = cortext(person, "sync")
    assert done.stdout.startswith("claude  1 transcript, 1 new")
    assert f"warning: not copied: {database}: " in done.stderr


def test_progress_in_a_terminal(person: Path) -> None:
    """A bar where it takes longer than a moment; it is taken away at the end."""
    for number in range(40):
        say(person, *(os.urandom(200_000).hex() for _ in range(4)), id=other(number))
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
    assert child.wait(30) == 0
    assert b"MB of 64." in said
    assert said.rpartition(b"\r" + b" " * 70 + b"\r")[2].startswith(b"claude  40 transcripts")


def test_stats_and_what_is_kept(person: Path) -> None:
    """`cortext stats` says how large the archive is, also without a conversation of ours."""
    say(person, "words " * 1000)
    ok(person, "sync")
    told = ok(person, "stats")
    assert told.startswith("Archive claude: 1 transcript, ")
    (size,) = json.loads(ok(person, "stats", "--json"))["archive"]
    assert (size["tool"], size["copies"], size["sources"] > size["packed"]) == ("claude", 1, True)


def test_lists_start_it(person: Path) -> None:
    """By the way, and nobody waits for it: afterwards the archive has what the tool had."""
    path = say(person, "Where do the sessions go?")
    assert ID in ok(person, "list", "--all")
    deadline = time.monotonic() + 30
    while not (archive(person) / ".known/claude.json").exists():
        assert time.monotonic() < deadline
    path.unlink()
    assert ID in ok(person, "list", "--all")
    assert "Where do the sessions go?" in ok(person, "show", ID)


def test_deleted_by_the_command(person: Path) -> None:
    """It says that the tool's own file remains, and where; sync does not copy it again."""
    path = say(person, "one")
    ok(person, "sync")
    assert str(path) in ok(person, "delete", ID, "--yes")
    assert "1 deleted by you and passed over" in ok(person, "sync")
    ok(person, "trash", "restore", "1")
    assert "1 transcript, nothing new" in ok(person, "sync")
