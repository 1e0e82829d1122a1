"""`cortext search` when something happens to what it keeps: it answers, says in one line what it
did, and writes nothing but its own files."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store, paths
from tests.catalog.spaces import NOW, Space
from tests.command import SCRIPT, cortext
from tests.faults.mounts import fill, mounted, read_only
from tests.homes import Homes, lay_out

YEAR = 365 * 86_400 * 10**9


class Place:
    """A workspace, a session of `aur`, and the four tools; and what is in all of them."""

    def __init__(self, folder: Path) -> None:
        self.space = Space(folder / "space")
        self.homes: Homes = lay_out(folder)
        self.aur = folder / "aurora"
        self.cache = folder / "cache"
        for number in range(1, 6):
            self.space.add(f"{number:03}-plan-x", f"emptied at the hour {number}")
        sessions = self.aur / "spawn/sessions"
        sessions.mkdir(parents=True)
        session = Session("helper-1", title="Ask", agent="helper", status="completed")
        session.messages = [SessionMessage("user", "emptied by the hour")]
        open_session_store(f"log:{sessions}").save(session)

    @property
    def env(self) -> dict[str, str]:
        places = {"XDG_CACHE_HOME": str(self.cache), "AURORA_HOME": str(self.aur), "CI": "true"}
        return {**self.homes.environment, **places}

    def search(self, *words: str) -> tuple[list[tuple[str, int | None]], str]:
        """What a new process finds, and what it says."""
        done = cortext(self.space.root, "search", "--json", "-n", "100", *words, env=self.env)
        assert done.returncode in (0, 1), done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return sorted((hit["id"], hit["message"] or 0) for hit in found), done.stderr

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return cortext(self.space.root, *args, env=self.env)

    def sources(self) -> dict[str, tuple[object, ...]]:
        """Every file and folder that is not ours to write, with all that can be told of it."""
        found: dict[str, tuple[object, ...]] = {}
        for folder in (self.space.root, self.aur, *self.homes.own.values()):
            for path in (folder, *folder.rglob("*")):
                # Our side files; and SQLite makes some for whoever reads a database in that mode.
                if ".cortext" in path.parts or path.name.endswith(("-shm", "-wal")):
                    continue
                now = path.lstat()
                data = path.read_bytes() if path.is_file() else b""
                facts: tuple[object, ...] = (now.st_ino, now.st_mode)
                if path.is_file():  # a folder changes when our side folder appears in it
                    facts = (*facts, now.st_size, now.st_mtime_ns, now.st_nlink)
                found[str(path)] = (*facts, hashlib.sha256(data).hexdigest())
        return found


@pytest.fixture
def damaged_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    # The folder of our side files beside the sessions of `aur`.
    made.run("spawn", "--list-sessions")
    return made


def another_program(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE cookies (host TEXT)")
    db.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def empty(path: Path) -> None:
    path.write_bytes(b"")
    old = path.stat().st_mtime - 3600
    os.utime(path, (old, old))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def holes(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


REBUILT = r"warning: {} is rebuilt, because it could not be read: {}\n"
HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (lambda path: path.write_bytes(os.urandom(9000)), "file is not a database"),
    "truncated": (lambda path: os.truncate(path, path.stat().st_size // 2), "database disk .*"),
    "holes": (holes, "database disk .*|a (day|row) cannot be read.*|no such table: .*"),
    "empty": (empty, "it is empty"),
    "another program's": (another_program, "another program created the file"),
}


@pytest.mark.parametrize(("harm", "reason"), HARM.values(), ids=HARM)
@pytest.mark.parametrize("which", ["the search index", "the catalog"])
def test_search_rebuilds_damaged_cache_with_single_warning(
    damaged_place: Place, which: str, harm: Callable[[Path], object], reason: str
) -> None:
    """It is rebuilt with one warning, and the answer is the same."""
    before, sources = damaged_place.search("emptied", "hour")[0], damaged_place.sources()
    assert len(before) > 9  # ours, and at least one of each tool
    path = Path(paths.words() if which == "the search index" else paths.catalog())
    harm(path)
    found, said = damaged_place.search("emptied", "hour")
    assert found == before
    assert re.fullmatch(REBUILT.format(which, f"({reason})"), said), said
    assert damaged_place.search("emptied", "hour") == (before, "")
    assert damaged_place.sources() == sources


@pytest.mark.parametrize("path", [paths.words, paths.catalog])
def test_cache_of_another_version_is_rebuilt_silently(
    damaged_place: Place, path: Callable[[], str]
) -> None:
    before = damaged_place.search("emptied", "hour")
    newer(Path(path()))
    assert damaged_place.search("emptied", "hour") == before


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (paths.words, "warning: the search index cannot be used, so this command takes longer"),
        (paths.catalog, "warning: the catalog cannot be used, so this command takes longer"),
    ],
)
def test_search_works_and_warns_when_folder_replaces_cache_file(
    damaged_place: Place, path: Callable[[], str], told: str
) -> None:
    """It is not removed: what is needed is made for the moment, and that is said."""
    before, sources = damaged_place.search("emptied", "hour")[0], damaged_place.sources()
    a_folder(Path(path()))
    assert damaged_place.search("emptied", "hour") == (before, f"{told}: is a directory\n")
    assert damaged_place.sources() == sources
    os.rmdir(path())
    assert damaged_place.search("emptied", "hour") == (before, "")


def test_search_finds_same_hits_after_cache_is_deleted(damaged_place: Place) -> None:
    """That costs nothing but time."""
    before, sources = damaged_place.search("emptied", "hour")[0], damaged_place.sources()
    shutil.rmtree(damaged_place.cache)
    assert damaged_place.search("emptied", "hour") == (before, "")
    assert damaged_place.sources() == sources


def test_search_with_read_only_cache_reports_unread_conversations(damaged_place: Place) -> None:
    """What was read before is found; how much was not, and why, is said; later all is found."""
    before, sources = damaged_place.search("emptied", "hour")[0], damaged_place.sources()
    with read_only(damaged_place.cache):
        found, said = damaged_place.search("emptied", "hour")
        assert found == before
        assert said.startswith(
            "warning: the search index cannot be written, so new messages are not found: "
        )
        assert said.count("\n") == 1
    assert damaged_place.sources() == sources
    folder = next((damaged_place.space.root / "conversations").glob("*/003-*"))
    damaged_place.space.append(folder, "emptied later, at another hour")
    with read_only(damaged_place.cache):
        found, said = damaged_place.search("emptied", "hour")
        assert found == before
        assert said.endswith("1 conversation is not read yet: the index cannot be written.\n")
        assert "003-plan-x" in damaged_place.run("list").stdout
        assert "at another hour" in damaged_place.run("show", "003-plan-x").stdout
    found, said = damaged_place.search("emptied", "hour")
    assert (sorted([*before, ("003-plan-x", 2)]), "") == (found, said)


def test_search_with_empty_read_only_cache_finds_everything(damaged_place: Place) -> None:
    """Everything is found, and it is said why that takes longer."""
    before = damaged_place.search("emptied", "hour")[0]
    shutil.rmtree(damaged_place.cache)
    damaged_place.cache.mkdir()
    with read_only(damaged_place.cache):
        found, said = damaged_place.search("emptied", "hour")
    assert found == before
    problem = "the search index cannot be used, so this command takes longer: read-only file system"
    assert said == f"warning: {problem}\n"


@pytest.mark.parametrize("leave", [0, 4096, 65_536, 200_000])
def test_search_finds_everything_when_cache_disk_is_full(
    damaged_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave: int
) -> None:
    """Everything is found, listed and shown, whatever can be kept of it."""
    before, sources = damaged_place.search("emptied", "hour")[0], damaged_place.sources()
    for number in range(6, 12):
        damaged_place.space.add(f"{number:03}-plan-y", *[f"gamma{n} " * 40 for n in range(300)])
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "none") as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
        damaged_place.cache = disk / "cache"
        (disk / "cache").mkdir(0o700)
        fill(disk, leave)
        found, said = damaged_place.search("emptied", "hour")
        assert found == before
        assert "the search index cannot be used, so this command takes longer: " in said
        assert "Traceback" not in said
        assert "003-plan-x" in damaged_place.run("list").stdout
        assert "emptied at the hour 3" in damaged_place.run("show", "003-plan-x").stdout
    now = damaged_place.sources()
    assert {path: now[path] for path in sources if "/conversations" not in path} == {
        path: facts for path, facts in sources.items() if "/conversations" not in path
    }


def test_search_reports_unread_conversations_when_disk_fills_later(
    damaged_place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before is found, what was not is told, shown and listed; with space again all
    of it is found."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=8m", "none") as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
        damaged_place.cache = disk
        before = damaged_place.search("emptied", "hour")[0]
        filler = fill(disk, 40_000)
        for number in range(6, 9):
            texts = [f"gamma{number}x{n} emptied " * 40 for n in range(300)]
            damaged_place.space.add(f"{number:03}-plan-y", *texts)
        sources = damaged_place.sources()
        found, said = damaged_place.search("emptied", "hour")
        assert found == before
        assert "3 conversations are not read yet: the index cannot be written" in said
        assert {line.removeprefix("warning: ").partition(":")[0] for line in said.splitlines()} <= {
            "the catalog cannot be used, so this command takes longer",
            "the search index cannot be written, so new messages are not found",
            "3 conversations are not read yet",
        }
        assert "008-plan-y" in damaged_place.run("list").stdout
        assert "gamma8x7" in damaged_place.run("show", "008-plan-y").stdout
        filler.unlink()
        assert damaged_place.search("gamma8x7") == ([("008-plan-y", 8)], "")
        assert damaged_place.sources() == sources


@pytest.mark.needs("strace", "to kill at a certain moment")
def test_search_finds_everything_after_killed_index_build(damaged_place: Place) -> None:
    """After kill -9 at any write of a first build the next search finds everything, once."""
    for number in range(6, 10):
        damaged_place.space.add(
            f"{number:03}-plan-y", *[f"gamma{number}x{n} " * 5 for n in range(300)]
        )
    before = damaged_place.search("emptied", "hour")[0]
    sources = damaged_place.sources()
    shutil.rmtree(damaged_place.cache)
    writes = _traced(damaged_place, "-e", "trace=pwrite64").stderr.count("pwrite64(")
    assert writes > 20
    moments = sorted({1, 2, 3, *(writes * part // 9 for part in range(1, 9)), writes})
    for moment in moments:
        shutil.rmtree(damaged_place.cache)
        done = _traced(damaged_place, "-e", f"inject=pwrite64:signal=SIGKILL:when={moment}")
        assert done.returncode != 0, moment
        assert damaged_place.search("emptied", "hour") == (before, ""), moment
        assert damaged_place.search("gamma7x200") == ([("007-plan-y", 201)], ""), moment
        with sqlite3.connect(paths.words()) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("SELECT name FROM facts WHERE name = 'bulk'").fetchone() is None
        db.close()
    assert damaged_place.sources() == sources


def _traced(place: Place, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["strace", "-f", "-qq", *options, SCRIPT, "search", "emptied", "hour"]
    env = {**os.environ, **place.env}
    pipe = subprocess.PIPE
    return subprocess.run(
        command, cwd=place.space.root, env=env, stdout=pipe, stderr=pipe, text=True, check=False
    )


@pytest.mark.parametrize("jump", [-YEAR, YEAR], ids=["back", "forward"])
def test_search_finds_old_and_new_messages_after_clock_jump(
    damaged_place: Place, jump: int
) -> None:
    """A year back or forward: what was said before and what is said after is found, once, and no
    list leaves it out."""
    space, then = damaged_place.space, NOW - timedelta(microseconds=jump // 1000)
    folder = space.add("020-plan-z", title="z")
    space.append(folder, "walrus before", at=then)
    assert damaged_place.search("walrus")[0] == [("020-plan-z", 1)]
    before = damaged_place.search("emptied", "hour")
    # The same as a clock that jumped: all that was written has a time that is so far away.
    for top in (
        damaged_place.space.root,
        damaged_place.cache,
        damaged_place.aur,
        *damaged_place.homes.own.values(),
    ):
        for path in (top, *top.rglob("*")):
            past = path.stat().st_mtime_ns - jump
            os.utime(path, ns=(past, past))
    sources = damaged_place.sources()
    assert damaged_place.search("walrus") == ([("020-plan-z", 1)], "")
    assert damaged_place.search("emptied", "hour") == before
    assert damaged_place.sources() == sources
    space.append(folder, "walrus after")
    assert damaged_place.search("walrus") == ([("020-plan-z", 1), ("020-plan-z", 2)], "")
    (folder / "plan.md").write_text("# Of walruses: a walrus\n", encoding="utf-8")
    assert damaged_place.search("walrus") == ([("020-plan-z", n) for n in range(3)], "")
    assert "020-plan-z" in damaged_place.run("list").stdout
    other = next((space.root / "conversations").glob("*/002-*"))
    space.append(other, "a walrus too")
    assert ("002-plan-x", 2) in damaged_place.search("walrus")[0]
