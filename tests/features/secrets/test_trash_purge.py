"""Emptying the trash leaves no word of what is gone in anything that cortext keeps."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store, paths
from tests.command import begin, cortext, folder_of, ok, say
from tests.faults.mounts import read_only
from tests.homes import Homes, lay_out, said

SECRET = "Xylotheca hides vermillion quagga bones."
"""What was said; the index has it in small letters."""
WORDS = re.compile(rb"xylotheca|vermillion|quagga", re.IGNORECASE)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


@pytest.fixture
def trash_space(tmp_path: Path) -> Path:
    root = tmp_path / "space"
    root.mkdir()
    ok(root, "init")
    begin(root, "plan", "Another", "Nothing of that.")
    return root


def holding(*folders: Path | str) -> list[str]:
    """The files below folders that have one of the words, in their name or inside."""
    found: list[str] = []
    for folder in folders:
        for path in Path(folder).rglob("*"):
            has = WORDS.search(os.fsencode(path.relative_to(folder)))
            if has or (path.is_file() and WORDS.search(path.read_bytes())):
                found.append(str(path))
    return found


def index() -> Path:
    return Path(paths.words())


def known() -> set[str]:
    """What is in the index, by name."""
    with sqlite3.connect(index()) as db:
        rows = db.execute("SELECT path FROM sources").fetchall()
    db.close()
    return {os.fsdecode(path).rpartition("/")[2] for (path,) in rows}


def searches(space: Path) -> bool:
    """Whether a search finds it."""
    return cortext(space, "search", "quagga").returncode == 0


@pytest.mark.parametrize("searched", [True, False], ids=["searched after", "not searched after"])
def test_emptying_trash_removes_text_of_conversation(
    trash_space: Path, data_home: Path, searched: bool
) -> None:
    """Its words are in no file, whether the index knew that it was deleted or not."""
    id = begin(trash_space, "plan", "Quagga", SECRET, "An answer about vermillion.")
    ok(trash_space, "stop", id, "--summary", "Xylotheca it was")
    assert searches(trash_space)
    assert str(index()) in holding(data_home)
    ok(trash_space, "delete", id, "--yes")
    if searched:
        assert not searches(trash_space)
    ok(trash_space, "trash", "empty", "--yes")
    assert holding(data_home) == []
    assert not searches(trash_space)
    assert "Nothing" in ok(trash_space, "search", "nothing")
    assert holding(data_home) == []


def test_emptying_trash_removes_text_when_id_is_used_again(
    trash_space: Path, data_home: Path
) -> None:
    """A conversation that was made where the deleted one had been does not hide its words."""
    id = begin(trash_space, "plan", "Same", SECRET)
    assert searches(trash_space)
    ok(trash_space, "delete", id, "--yes")
    other = Session(id, kind="plan", messages=[SessionMessage("user", "Something else.")])
    open_session_store(f"workspace:{trash_space}").save(other)
    assert not searches(trash_space)
    ok(trash_space, "trash", "empty", "--yes")
    assert holding(data_home) == []
    assert "Something" in ok(trash_space, "search", "something")


def test_emptying_trash_removes_text_of_spawn_session(trash_space: Path, data_home: Path) -> None:
    """The same for what was said in `aur spawn`."""
    folder = Path(paths.spawn_sessions())
    folder.mkdir(parents=True)
    session = Session("helper-1", title=SECRET, agent="helper", status="completed")
    session.messages = [SessionMessage("user", SECRET)]
    open_session_store(f"log:{folder}").save(session)
    assert searches(trash_space)
    ok(trash_space, "spawn", "--list-sessions")
    ok(trash_space, "spawn", "--delete-session", "helper-1")
    ok(trash_space, "trash", "empty", "--yes")
    assert holding(data_home) == []


@pytest.mark.parametrize("kept", [True, False], ids=["the tool has it", "the tool has it no more"])
def test_emptying_trash_removes_text_of_archive_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """The same for the archive's copy of a tool's session, whose own file is not touched."""
    homes: Homes = lay_out(tmp_path)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    space = homes.home / "nowhere"
    space.mkdir()
    id, turns = said("claude")
    first = next(text for role, text in turns if role == "user")
    own = homes.transcript("claude")
    own.write_bytes(own.read_bytes().replace(first.encode(), f"{SECRET} {first}".encode()))
    ok(space, "sync")
    before = own.read_bytes()
    if not kept:
        own.unlink()
    assert searches(space)
    ok(space, "delete", id, "--yes")
    ok(space, "trash", "empty", "--yes")
    assert holding(tmp_path / "cache", homes.data / "cortext") == []
    assert not searches(space)
    assert holding(tmp_path / "cache", homes.data / "cortext") == []
    assert not kept or own.read_bytes() == before


def test_emptying_trash_keeps_index_that_never_had_conversation(
    trash_space: Path, data_home: Path
) -> None:
    """An index that never had it stays as it is: only what costs nothing is done."""
    assert not searches(trash_space)
    before = index().stat()
    id = begin(trash_space, "plan", "Quagga", SECRET)
    ok(trash_space, "delete", id, "--yes")
    ok(trash_space, "trash", "empty", "--yes")
    assert (index().stat().st_ino, index().stat().st_size) == (before.st_ino, before.st_size)
    assert known() == {"001-plan-another"}
    assert holding(data_home) == []


def test_emptying_trash_keeps_index_when_other_conversation_grew(trash_space: Path) -> None:
    """What came to a conversation that is there takes nothing away."""
    id = begin(trash_space, "plan", "Growing", "One.")
    assert not searches(trash_space)
    say(trash_space, id, "Two.")
    assert not searches(trash_space)
    before = index().stat().st_ino
    ok(trash_space, "delete", begin(trash_space, "plan", "Short", "Three."), "--yes")
    ok(trash_space, "trash", "empty", "--yes")
    assert index().stat().st_ino == before


def test_emptying_trash_creates_no_index(trash_space: Path, data_home: Path) -> None:
    """Where nobody ever searched none is made."""
    id = begin(trash_space, "plan", "Quagga", SECRET)
    ok(trash_space, "delete", id, "--yes")
    ok(trash_space, "trash", "empty", "--yes")
    assert not index().exists()
    assert holding(data_home) == []


def test_emptying_trash_removes_text_while_catalog_is_read(
    trash_space: Path, data_home: Path
) -> None:
    """What another process keeps from being taken out of the catalog goes with its file."""
    id = begin(trash_space, "plan", "Quagga", SECRET)
    ok(trash_space, "list")
    ok(trash_space, "delete", id, "--yes")
    db = sqlite3.connect(paths.catalog(), isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM rows").fetchone()
    try:
        ok(trash_space, "trash", "empty", "--yes")
        assert holding(data_home) == []
    finally:
        db.close()
    assert "001-plan-another" in ok(trash_space, "list")


def test_emptying_trash_fails_and_keeps_entries_when_index_is_read_only(trash_space: Path) -> None:
    """Then nothing is: the error says why, and later it works."""
    id = begin(trash_space, "plan", "Quagga", SECRET)
    assert searches(trash_space)
    ok(trash_space, "delete", id, "--yes")
    with read_only(index().parent):
        done = cortext(trash_space, "trash", "empty", "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: could not remove {index()}: " in done.stderr
    assert "hint: " in done.stderr
    assert id in ok(trash_space, "trash", "list")
    ok(trash_space, "trash", "empty", "--yes")
    assert holding(index().parent) == []


def test_emptying_trash_fails_and_keeps_entries_when_index_is_locked(
    trash_space: Path, hold: Callable[[str], object]
) -> None:
    """Another process that may have read it already is waited for; nothing goes before."""
    id = begin(trash_space, "plan", "Quagga", SECRET)
    assert searches(trash_space)
    ok(trash_space, "delete", id, "--yes")
    hold(f"{index()}.lock")
    done = cortext(trash_space, "trash", "empty", "--yes")
    assert (done.returncode, "is locked by process" in done.stderr) == (6, True), done.stderr
    assert id in ok(trash_space, "trash", "list")
    assert folder_of(trash_space, "001-plan-another").is_dir()


@pytest.fixture
def hold(request: pytest.FixtureRequest) -> Callable[[str], object]:
    """Have another process hold a lock until the test ends."""
    program = (
        "import sys\nfrom cortext.durability.file_lock import FileLock\n"
        "with FileLock(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )

    def start(path: str) -> None:
        pipe = subprocess.PIPE
        child = subprocess.Popen([sys.executable, "-c", program, path], stdin=pipe, stdout=pipe)
        request.addfinalizer(child.communicate)
        assert child.stdout
        assert child.stdout.readline() == b"held\n"

    return start
