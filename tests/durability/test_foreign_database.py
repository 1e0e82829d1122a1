"""Databases of other programs: what is refused, and what reading one may cost."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from cortext.durability.foreign_database import explain_failure, find_tables, open_foreign

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "other.db"
    make(path, "CREATE TABLE plain (id); INSERT INTO plain VALUES (1)")
    return path


def make(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(script)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_pipe_in_place_of_database_file_raises_os_error(path: Path, suffix: str) -> None:
    pipe = f"{path}{suffix}"
    if not suffix:
        path.unlink()
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"), open_foreign(str(path), timeout=1):
        pass


def test_immutable_database_is_read_beside_pipe(path: Path) -> None:
    os.mkfifo(f"{path}-wal")
    with open_foreign(str(path), timeout=1, immutable=True) as db:
        assert db.execute("SELECT id FROM plain").fetchall() == [(1,)]


def test_find_tables_returns_only_tables_with_stored_rows(path: Path) -> None:
    make(
        path,
        f"""
        CREATE TABLE stored (id, twice GENERATED ALWAYS AS (id * 2) STORED);
        CREATE TABLE computed (id, large GENERATED ALWAYS AS (zeroblob(900000000)));
        CREATE VIRTUAL TABLE words USING fts5(text);
        CREATE VIEW endless AS {ENDLESS};
        """,
    )
    with open_foreign(str(path), timeout=1) as db:
        found = find_tables(db)
    assert {"plain", "stored"} <= found
    assert not found & {"computed", "words", "endless"}


def test_find_tables_skips_view_disguised_as_table(path: Path) -> None:
    make(
        path,
        f"""
        CREATE VIEW endless AS {ENDLESS};
        PRAGMA writable_schema=ON;
        UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = 'endless';
        """,
    )
    # SQLite itself sees through most disguises.
    with open_foreign(str(path), timeout=1) as db, suppress(sqlite3.DatabaseError):
        assert "endless" not in find_tables(db)


def test_endless_query_is_stopped(path: Path) -> None:
    with open_foreign(str(path), timeout=1) as db:
        with pytest.raises(sqlite3.OperationalError) as caught:
            db.execute(ENDLESS).fetchone()
        assert "too long for a database of this size" in explain_failure(caught.value)


def test_row_above_size_limit_is_refused(path: Path) -> None:
    with open_foreign(str(path), timeout=1) as db:
        with pytest.raises(sqlite3.DataError) as caught:
            db.execute("SELECT zeroblob(900000000)").fetchone()
        assert explain_failure(caught.value) == "a row is larger than 256 MiB"


def test_foreign_database_cannot_be_written(path: Path) -> None:
    with open_foreign(str(path), timeout=1) as db, pytest.raises(sqlite3.OperationalError):
        db.execute("DELETE FROM plain")
