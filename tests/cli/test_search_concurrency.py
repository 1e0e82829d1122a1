"""`cortext search` beside other processes, each the real command: nobody is kept waiting, nothing
is lost, and what was said a moment ago is found."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store, paths
from tests.catalog.spaces import Space
from tests.cli.show_terminal import in_terminal
from tests.command import SCRIPT, begin, cortext, ok, say
from tests.homes import Homes, lay_out, said

pytestmark = pytest.mark.long

SEARCHERS = 8
READ_ALL = "from cortext.features.search.search import index_everything; index_everything()"
"""What a search starts behind itself for what it had no time for."""


@pytest.fixture(autouse=True)
def _nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


@pytest.fixture
def searched_space(tmp_path: Path) -> Space:
    return Space(tmp_path / "space")


def hits(root: Path, *words: str) -> list[dict[str, Any]]:
    done = cortext(root, "search", "--json", "-n", "1000", *words)
    assert (done.returncode in (0, 1), "locked" in done.stderr) == (True, False), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def many(space: Space, count: int, each: int) -> None:
    """So many conversations, of so many long messages."""
    for number in range(1, count + 1):
        texts = [f"beta{number}x{n} and some more to say " * 8 for n in range(each)]
        space.add(f"{number:04}-b", *texts)


@contextmanager
def ending(children: list["subprocess.Popen[str]"]) -> Iterator[None]:
    """Whatever happens, none of them goes on."""
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.communicate()


def start(root: Path, *command: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, stdout=pipe, stderr=pipe, text=True)


APPENDS = """
import sys, time
from cortext import SessionMessage, open_session_store
store, end, number = open_session_store(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    for id in ("001-a", "002-a"):
        store.append(id, SessionMessage("user", f"alpha said{number}"))
    number += 1
    time.sleep(0.02)
print(number)
"""
INDEXES = f"""
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    {READ_ALL}
"""


def _ten(space: Space, seconds: float) -> None:
    """Eight that search again and again, one that indexes and one that appends."""
    for number in (1, 2):
        space.add(f"{number:03}-a", "alpha first")
    many(space, 40, 100)
    root = space.root
    url, until = f"workspace:{root}", str(seconds)
    appends = start(root, sys.executable, "-c", APPENDS, url, until)
    indexes = start(root, sys.executable, "-c", INDEXES, until)
    searching = [start(root, SCRIPT, "search", "alpha") for _ in range(SEARCHERS)]
    done = found = 0
    surely: set[int] = set()  # those that began when another had found it already
    with ending([appends, indexes, *searching]):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end or (done < SEARCHERS and now < end + 60):
            for number, child in enumerate(searching):
                if child.poll() is not None:
                    found += _went_well(child, surely=number in surely)
                    done += 1
                    searching[number] = start(root, SCRIPT, "search", "alpha")
                    surely |= {number} if found else set()
            time.sleep(0.01)
        for number, child in enumerate(searching):
            child.wait(timeout=60)
            found += _went_well(child, surely=number in surely)
        assert indexes.wait(timeout=60) == 0, indexes.communicate()[1]
        assert indexes.communicate()[1] == ""
        turns, errors = appends.communicate(timeout=60)
        assert (appends.returncode, errors) == (0, "")
    assert done >= SEARCHERS
    assert found
    assert int(turns) > 10
    _nothing_is_missing(root, int(turns))


LEFT = re.compile(r"[\d,]+ conversations? (is|are) not read yet(: another process is|\. The next)")


def _went_well(child: "subprocess.Popen[str]", *, surely: bool) -> bool:
    """Whether it found something; if not `surely`, it may have had nothing to look in yet. It says
    no more than what is left."""
    out, errors = child.communicate()
    lines = [line for line in errors.splitlines() if not LEFT.match(line)]
    if "alpha" not in out:
        assert (child.returncode, surely) == (1, False), errors
        nothing = "No results: ", "hint: ", "nothing was", '"alpha" was'
        lines = [line for line in lines if not line.startswith(nothing)]
    assert lines == []
    return "alpha" in out


def _nothing_is_missing(root: Path, turns: int) -> None:
    subprocess.run([sys.executable, "-c", READ_ALL], cwd=root, check=True, timeout=100)
    for id in ("001-a", "002-a"):
        found = {hit["message"] for hit in hits(root, "alpha", "--conversation", id)}
        assert len(found) == min(turns + 1, 1000)
    assert [hit["id"] for hit in hits(root, f"said{turns - 1}")] == ["002-a", "001-a"]
    assert [hit["message"] for hit in hits(root, "beta40x99")] == [100]
    with sqlite3.connect(paths.words()) as db:
        (spots,) = db.execute("SELECT total(count) FROM runs").fetchone()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    # Each message and markdown once, and the titles.
    assert spots == 2 * (turns + 1) + 40 * 100 + 2 * 42


def test_concurrent_search_index_and_append_lose_nothing(searched_space: Space) -> None:
    """While eight search, one indexes and one appends: no error, and nothing is missing after."""
    _ten(searched_space, 8)


@pytest.mark.slow
def test_concurrent_search_index_and_append_lose_nothing_for_one_minute(
    searched_space: Space,
) -> None:
    """The same for a minute."""
    _ten(searched_space, 60)


HOLDS = """
import sys
from cortext.durability.file_lock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_search_answers_from_old_index_while_index_is_locked(searched_space: Space) -> None:
    """A search answers from what is there, and says what is left and why; nothing else waits."""
    folder = searched_space.add("001-a", "alpha one")
    root = searched_space.root
    assert len(hits(root, "alpha")) == 1
    searched_space.append(folder, "alpha two")
    command = [sys.executable, "-c", HOLDS, f"{paths.words()}.lock"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        done = cortext(root, "search", "alpha")
        assert ("alpha one" in done.stdout, "alpha two" in done.stdout) == (True, False)
        left = "1 conversation is not read yet: another process is reading them.\n"
        assert (done.returncode, done.stderr) == (0, left)
        assert "001-a" in ok(root, "list")
        holder.communicate()
    assert len(hits(root, "alpha")) == 2


def test_search_answers_during_index_build_by_another_process(searched_space: Space) -> None:
    """While another process reads 1,000 conversations, held at some moments of it, a search answers
    from what is there and says what is left; in the end all is there."""
    root = searched_space.root
    searched_space.add("2000-a", "alpha one")
    assert len(hits(root, "alpha")) == 1
    many(searched_space, 1000, 12)
    child = start(root, sys.executable, "-c", READ_ALL)
    left = r"[\d,]+ conversations are not read yet: another process is reading them\.\n"
    held = 0
    with ending([child]):
        while held < 3 and _is_locked(f"{paths.words()}.lock", child):
            child.send_signal(signal.SIGSTOP)
            done = cortext(root, "search", "alpha")
            child.send_signal(signal.SIGCONT)
            assert (done.returncode, "alpha one" in done.stdout) == (0, True)
            if done.stderr:
                assert re.fullmatch(left, done.stderr), done.stderr
                held += 1
        assert child.wait(timeout=100) == 0
    assert held
    assert [hit["message"] for hit in hits(root, "beta999x7")] == [8]


def test_search_answers_during_exclusive_index_transaction(searched_space: Space) -> None:
    """A writer that has the whole index for itself keeps nobody from asking it."""
    searched_space.add("001-a", "alpha one")
    assert len(hits(searched_space.root, "alpha")) == 1
    db = sqlite3.connect(paths.words(), isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    db.execute("INSERT OR REPLACE INTO facts VALUES ('next', 999)")
    try:
        done = cortext(searched_space.root, "search", "alpha")
    finally:
        db.close()
    assert (done.returncode, "alpha one" in done.stdout, done.stderr) == (0, True, "")


def _is_locked(path: str, child: "subprocess.Popen[str]") -> bool:
    """Whether somebody has the lock, once that is so."""
    import fcntl

    end = time.monotonic() + 60
    while child.poll() is None and time.monotonic() < end:
        if os.path.exists(path):
            with open(path, "rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return True
        time.sleep(0.002)
    return False


def test_first_index_build_draws_progress_bar_only_in_terminal(
    searched_space: Space, data_home: Path
) -> None:
    """A first build of more than a second draws a bar in a terminal, which is gone at the end; in
    a pipe there is nothing, nor the next time."""
    many(searched_space, 600, 700)
    screen = in_terminal(searched_space.root, "search", "beta7x7")
    drawn = re.findall(r"\r[^\r\n]*reading conversations: ([\d,]+) of 600", screen)
    assert drawn
    assert sorted(map(int, drawn)) == [*map(int, drawn)]
    assert re.search(r"\r +\r", screen)
    assert screen.rindex("reading conversations") < screen.index(" and some more to say")
    assert "reading conversations" not in in_terminal(searched_space.root, "search", "beta7x7")
    shutil.rmtree(data_home / "cache")
    done = cortext(searched_space.root, "search", "beta7x7")
    assert (done.returncode, done.stderr) == (0, "")


def test_next_search_finds_new_workspace_turn(tmp_path: Path) -> None:
    """One more turn is found by the next search, in another process."""
    ok(tmp_path, "init")
    id = begin(tmp_path, "plan", "Colours", "Nothing.")
    assert hits(tmp_path, "quokka") == []
    say(tmp_path, id, "A quokka!")
    assert [(hit["id"], hit["message"]) for hit in hits(tmp_path, "quokka")] == [(id, 2)]


def test_next_search_finds_new_spawn_turn(tmp_path: Path) -> None:
    """The same in a session of `aur spawn`."""
    folder = Path(paths.spawn_sessions())
    folder.mkdir(parents=True)
    store = open_session_store(f"log:{folder}")
    first = SessionMessage("user", "Nothing.")
    store.save(Session("helper-1", agent="helper", status="active", messages=[first]))
    assert hits(tmp_path, "quokka") == []
    store.append("helper-1", SessionMessage("assistant", "A quokka!"))
    assert [(hit["id"], hit["message"]) for hit in hits(tmp_path, "quokka")] == [("helper-1", 2)]


@pytest.fixture
def cached_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    found = lay_out(tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_next_search_finds_new_line_of_tool_transcript(cached_homes: Homes, tool: str) -> None:
    """The same in a tool's transcript: the last answer as the tool itself once appended it."""
    id, turns = said(tool)
    last, path = turns[-1][1], cached_homes.transcript(tool)
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(number for number, line in enumerate(lines) if json.dumps(last).encode() in line)
    path.write_bytes(b"".join(lines[:cut]))
    before = _in_session(cached_homes, id, last)
    with open(path, "ab") as file:
        file.writelines(lines[cut:])
    after = _in_session(cached_homes, id, last)
    assert [role for _, role in after if (_, role) not in before] == ["assistant"]
    assert before == [] or tool == "claude"


def test_next_search_finds_new_line_with_same_timestamp(cached_homes: Homes) -> None:
    """What a tool writes is found also if it has the time of the line before it."""
    id, _ = said("claude")
    path = cached_homes.transcript("claude")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    parent = [row for row in rows if row.get("uuid")][-1]["uuid"]
    answer = [row for row in rows if row.get("type") == "assistant"][-1]
    for number, word in enumerate(("quokka", "numbat"), 1):
        said_so = {"id": f"m{number}", "content": [{"type": "text", "text": f"A {word}!"}]}
        new = {**answer, "uuid": f"u{number}", "parentUuid": parent}
        new |= {
            "timestamp": "2026-11-17T00:00:00.000Z",
            "message": {**answer["message"], **said_so},
        }
        parent = f"u{number}"
        assert _in_session(cached_homes, id, word) == []
        with open(path, "ab") as file:
            file.write(json.dumps(new).encode() + b"\n")
        assert [role for _, role in _in_session(cached_homes, id, word)] == ["assistant"]


def test_next_search_finds_new_opencode_message(cached_homes: Homes) -> None:
    """The same in the database of OpenCode."""
    id, turns = said("opencode")
    last, path = turns[-1][1], cached_homes.transcript("opencode")
    with sqlite3.connect(path) as db:
        query = "SELECT id, message_id FROM part WHERE session_id = ? AND instr(data, ?)"
        ((part, message),) = db.execute(query, (id, last)).fetchall()
        taken = [_take(db, "part", "message_id", message), _take(db, "message", "id", message)]
        (time_then,) = db.execute("SELECT time_updated FROM session WHERE id = ?", (id,)).fetchone()
        db.execute("UPDATE session SET time_updated = ? WHERE id = ?", (time_then - 5000, id))
    db.close()
    assert part
    assert _in_session(cached_homes, id, last) == []
    with sqlite3.connect(path) as db:
        for table, rows in zip(("message", "part"), reversed(taken), strict=True):
            marks = ",".join("?" * len(rows[0]))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        db.execute("UPDATE session SET time_updated = ? WHERE id = ?", (time_then, id))
    db.close()
    assert [role for _, role in _in_session(cached_homes, id, last)] == ["assistant"]


def _take(db: sqlite3.Connection, table: str, name: str, value: str) -> list[tuple[Any, ...]]:
    rows = db.execute(f"SELECT * FROM {table} WHERE {name} = ?", (value,)).fetchall()
    db.execute(f"DELETE FROM {table} WHERE {name} = ?", (value,))
    return rows


def _in_session(homes: Homes, id: str, text: str) -> list[tuple[int, str]]:
    found = hits(homes.home, f'"{text}"')
    return sorted((hit["message"], hit["role"]) for hit in found if hit["id"] == id)
