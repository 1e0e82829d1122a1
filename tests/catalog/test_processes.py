"""Several processes on one index: every row is there, and nobody sees an error."""

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cortext import Session, SessionIndex, SessionStorage
from cortext.catalog.rebuildable_database import Database

CREATE = """
import sys
from cortext import SessionManager, SessionStorage
folder, name, count = sys.argv[1:]
sys.stdin.readline()
manager = SessionManager(SessionStorage(folder), auto_save_interval=0)
for number in range(int(count)):
    manager.create(title=f"{name}-{number:03}")
manager.close()
"""

INDEX = """
import sys
from cortext import Session, SessionIndex, SessionStorage
folder, name, count = sys.argv[1:]
sys.stdin.readline()
storage = SessionStorage(folder)
index = SessionIndex(storage)
for number in range(int(count)):
    session = Session(f"{name}-{number:03}", tags=[name])
    storage.save(session)
    index.add(session)
    if number % 5 == 0:
        index.save_if_dirty()
    if number % 7 == 0:
        assert any(row.id == session.id for row in index.list(limit=1000))
index.close()
"""

HEAVY = """
import sys
from cortext import SessionIndex, SessionStorage
SessionIndex(SessionStorage(sys.argv[1])).list()
print(*sorted(sys.modules))
"""

OPEN = """
import sys
from cortext.catalog.rebuildable_database import Database
path, _, count = sys.argv[1:]
sys.stdin.readline()
for _ in range(int(count)):
    database = Database(path, schema="CREATE TABLE t (x)", version=7, name="it")
    database.run(lambda db: db.execute("INSERT INTO t VALUES (1)"))
    database.close()
"""

MAKE = """
import os, sys
from cortext.catalog.rebuildable_database import Database
database = Database(sys.argv[1], schema="CREATE TABLE t (x)", version=7, name="it")
database.ready()
os._exit(0 if database.is_fresh else 1)
"""


def together(program: str, folder: Path, count: int, processes: int, *, warning: str = "") -> None:
    """Run a program several times at once: each waits for a line before it begins. One of them may
    write the warning."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(folder), f"p{number}", str(count)],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(processes)
    ]  # fmt: skip
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [(process.communicate(timeout=100)[1], process.returncode) for process in running]
    warnings = [error for error, _ in ends if error]
    assert [error for error in warnings if not (warning and warning in error)] == []
    assert (len(warnings) <= 1, {code for _, code in ends}) == (True, {0})


def rows(storage: SessionStorage) -> Sequence[str]:
    """What stands in the database itself, before an index looks at the files."""
    import sqlite3

    db = sqlite3.connect(storage.storage_dir / ".cortext" / "index.sqlite3")
    found = [row[0] for row in db.execute("SELECT id FROM sessions ORDER BY id")]
    db.close()
    return found


def test_two_processes_index_all_40_created_sessions(storage: SessionStorage) -> None:
    """Two processes x 20 creates: 40 in the index, in the export and in a fresh list."""
    together(CREATE, storage.storage_dir, 20, 2)
    assert list(rows(storage)) == storage.list_session_ids()
    index = SessionIndex(storage)
    titles = [summary.title for summary in index.list(limit=100, sort_by="title")]
    assert titles == [f"p{name}-{number:03}" for name in range(2) for number in range(20)]
    index.close()
    assert (storage.storage_dir / "index.json").read_bytes().count(b'"id":') == 40


def test_eight_writing_processes_keep_every_row(storage: SessionStorage) -> None:
    """Eight processes x 25 rows, with exports and lists between: all 200 rows, no error."""
    together(INDEX, storage.storage_dir, 25, 8)
    expected = sorted(f"p{name}-{number:03}" for name in range(8) for number in range(25))
    assert list(rows(storage)) == expected
    index = SessionIndex(storage)
    assert index.count() == 200
    assert len(index.list(limit=1000, tags=["p3"])) == 25
    index.close()


def test_eight_processes_repair_damaged_index_without_loss(storage: SessionStorage) -> None:
    """Eight processes that find the index damaged repair it without losing a session."""
    for number in range(20):
        storage.save(Session(f"old-{number:03}"))
    SessionIndex(storage).close()
    (storage.storage_dir / ".cortext" / "index.sqlite3").write_bytes(b"garbage" * 2000)
    together(INDEX, storage.storage_dir, 5, 8, warning="is rebuilt")
    index = SessionIndex(storage)
    assert index.count() == 60
    index.close()


@pytest.mark.parametrize("before", [b"garbage" * 2000, b"", None])
def test_twelve_processes_create_database_and_keep_every_row(
    tmp_path: Path, before: bytes | None
) -> None:
    """Of twelve processes one makes it, and what any of them wrote is there."""
    for number in range(3):
        path = tmp_path / f"{number}.sqlite3"
        if before is not None:
            path.write_bytes(before)
        together(OPEN, path, 10, 12, warning="is rebuilt" if before else "")
        database = Database(str(path), schema="CREATE TABLE t (x)", version=7, name="it")
        assert database.run(lambda db: db.execute("SELECT count(*) FROM t").fetchone()) == (120,)
        database.close()


@pytest.mark.needs("strace", "to see what waits for the disk")
def test_database_creation_does_not_sync_to_disk(tmp_path: Path) -> None:
    """The maker has the lock; on a busy disk its syncs took longer than the others wait."""
    syncs = tmp_path / "syncs"
    words = ["strace", "-f", "-qq", "-o", str(syncs), "-e", "trace=fsync,fdatasync"]
    subprocess.run(
        [*words, sys.executable, "-c", MAKE, str(tmp_path / "one.sqlite3")],
        check=True, timeout=100,
    )  # fmt: skip
    assert "sync(" not in syncs.read_text(encoding="utf-8")


def test_list_loads_no_heavy_modules(storage: SessionStorage) -> None:
    """Listing loads no asyncio, no terminal library and no network."""
    storage.save(Session("a"))
    done = subprocess.run(
        [sys.executable, "-c", HEAVY, str(storage.storage_dir)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    heavy = {"asyncio", "click", "rich", "redis", "socket", "subprocess", "multiprocessing"}
    assert set(done.stdout.split()) & heavy == set()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_and_parent_share_index_object(storage: SessionStorage) -> None:
    """Parent and forked child use one index object, and both find everything."""
    index = SessionIndex(storage)
    index.add(Session("before"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            index.add(Session("child"))
            code = 0 if index.count() == 2 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    index.add(Session("parent"))
    assert sorted(summary.id for summary in index.list()) == ["before", "child", "parent"]
    index.close()


def test_sixteen_threads_create_one_database_without_lock_error(tmp_path: Path) -> None:
    """Sixteen that find no database make one, a hundred times: nobody is told that it is locked."""
    for number in range(100):
        path = str(tmp_path / f"{number}.sqlite3")
        made = [
            Database(path, schema="CREATE TABLE t (n)", version=1, name="it") for _ in range(16)
        ]
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(Database.ready, made))
        assert sum(one.is_fresh for one in made) == 1
        for one in made:
            one.close()


def test_close_of_old_connection_keeps_later_writes(tmp_path: Path) -> None:
    """SQLite removes a write-ahead log by its name, but not that of a file which took its place."""
    path = str(tmp_path / "catalog.sqlite3")
    old = Database(path, schema="CREATE TABLE t (x)", version=7, name="it")
    old.run(lambda db: db.execute("INSERT INTO t VALUES (1)"))
    new = Database(path, schema="CREATE TABLE t (x)", version=7, name="it")
    new.discard()
    new.run(lambda db: db.execute("INSERT INTO t VALUES (2)"))
    assert (tmp_path / "catalog.sqlite3-wal").stat().st_size
    old.close()
    assert (tmp_path / "catalog.sqlite3-wal").stat().st_size
    other = Database(path, schema="CREATE TABLE t (x)", version=7, name="it")
    assert other.run(lambda db: db.execute("SELECT x FROM t").fetchall()) == [(2,)]
    other.close()
    new.close()
