"""Rows of `aur spawn`'s sessions, with a damaged catalog, and while others write."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.catalog.spawn_folder import Folder, turn
from tests.faults.mounts import read_only


def spoil(database: Path, how: str) -> None:
    if how == "garbage":
        database.write_bytes(b"garbage" * 3000)
    elif how == "deleted":
        database.unlink()
    elif how == "empty":
        database.write_bytes(b"")
    elif how == "cut":
        database.write_bytes(database.read_bytes()[:5000])
    elif how == "a folder":
        database.unlink()
        database.mkdir()
    else:
        statements = {
            "from the future": "PRAGMA user_version = 99",
            "other tables": "DROP TABLE rows",
            "other values": "UPDATE rows SET row = x'00' WHERE key = CAST('s3' AS BLOB)",
        }
        with sqlite3.connect(database) as db:
            db.execute(statements[how])
        db.close()


@pytest.mark.parametrize(
    "how",
    ["garbage", "deleted", "empty", "cut", "a folder", "from the future", "other tables",
     "other values"],
)  # fmt: skip
def test_list_is_right_whatever_damage_database_has(how: str, spawn_folder: Folder) -> None:
    """The list is right, this time and the next."""
    for number in range(30):
        spawn_folder.add(f"s{number}", *(turn("x" * n) for n in range(number)))
    right = spawn_folder.list()
    assert right == spawn_folder.anew()
    for suffix in ("-wal", "-shm"):
        Path(f"{spawn_folder.database}{suffix}").unlink(missing_ok=True)
    spoil(spawn_folder.database, how)
    assert spawn_folder.list() == right
    assert spawn_folder.list() == right


@pytest.mark.parametrize("known", [True, False])
def test_list_is_right_in_read_only_folder(known: bool, spawn_folder: Folder) -> None:
    """The list is right all the same, with a catalog that is there and with none."""
    spawn_folder.add("one", turn("x"))
    if known:
        spawn_folder.list()
    spawn_folder.add("two", turn("x"))
    with read_only(spawn_folder.path.parent):
        assert spawn_folder.list() == spawn_folder.anew()
    assert spawn_folder.database.exists() == known


def test_database_is_readable_only_by_owner(spawn_folder: Folder) -> None:
    """As the sessions are."""
    spawn_folder.add("one")
    old = os.umask(0)
    try:
        spawn_folder.list()
    finally:
        os.umask(old)
    assert spawn_folder.database.stat().st_mode & 0o777 == 0o600


WRITER = """
import sys, itertools
from cortext import Session, SessionMessage
from cortext.stores.log import LogStore
folder = sys.argv[1]
store = LogStore(folder)
for n in range(20):
    store.save(Session(f"s{n}", agent="a", status="active"))
print("ready", flush=True)
for n in itertools.count():
    id = f"s{n % 20}"
    store.append(id, SessionMessage("user", "q" * (n % 500)), SessionMessage("assistant", "a"))
    if n % 7 == 0:
        store.amend(id, title=f"title {n}")
    if n % 50 == 0:
        store.delete("s19")
        store.save(Session("s19", agent="a", status="active"))
"""


@pytest.mark.parametrize("times", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_list_is_complete_while_writer_appends(spawn_folder: Folder, times: int) -> None:
    """Again and again: nobody sees an error, damage, or fewer turns than before."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(spawn_folder.path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    seen: dict[str, int] = {}
    with spawn_folder.catalog() as catalog:
        for _ in range(times):
            rows = catalog.log_sessions(str(spawn_folder.path))
            assert [row.note for row in rows if row.note] == []
            assert {row.key for row in rows} >= {f"s{n}" for n in range(19)}
            for row in rows:
                assert row.key == "s19" or row.messages >= seen.get(row.key, 0)
                seen[row.key] = row.messages
    assert writer.poll() is None
    writer.terminate()
    assert writer.communicate(timeout=60)[1] == ""
    assert sum(seen.values()) > 20
    assert spawn_folder.list() == spawn_folder.anew()


def test_parallel_readers_of_damaged_index_get_whole_list(spawn_folder: Folder) -> None:
    """Each gets the whole list."""
    for number in range(50):
        spawn_folder.add(f"s{number}", turn("x"))
    spawn_folder.list()
    spawn_folder.database.write_bytes(b"garbage" * 3000)
    program = (
        "import sys; from cortext.catalog.catalog import Catalog; sys.stdin.readline();"
        "catalog = Catalog(sys.argv[2]);"
        "print([len(catalog.log_sessions(sys.argv[1])) for _ in range(20)])"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(spawn_folder.path), str(spawn_folder.database)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    ends = [process.communicate("\n", timeout=100) for process in running]
    assert [out for out, _ in ends] == [f"{[50] * 20}\n"] * 4
    warnings = [error for _, error in ends if error]
    assert len(warnings) <= 1
    assert "the catalog is rebuilt" in "".join(warnings)
