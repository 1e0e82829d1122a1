"""Safe access to the SQLite databases of other programs.

Such a database may be damaged or malicious: for example, a pipe instead of a file, an endless view,
or a row of a gigabyte. cortext uses this module to open every database that it did not create. The
module limits the time and the memory of queries.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from urllib.parse import quote

from cortext.durability.read_files import open_file

_LARGEST_ROW = 256 << 20
_STEPS = 20_000_000
"""The number of SQLite VM instructions that every query may use. They take about a second."""
# A query may use this many more VM instructions for each byte of the database. A plain read of all
# rows takes less than 1 instruction for each byte.
_STEPS_PER_BYTE = 20
_STEPS_AT_ONCE = 10_000
_EXTRA_FILES = ("-wal", "-shm", "-journal")
_HARDENING = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
_COMPUTED_COLUMNS = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden = 2"


@contextmanager
def open_foreign(
    path: str, *, timeout: float, immutable: bool = False
) -> Generator[sqlite3.Connection]:
    """Open another program's database for reading, in a `with` statement.

    `timeout` is the number of seconds to wait if another process holds a lock. If `immutable` is
    true, SQLite ignores the extra files of a database that is in use (`-wal`, `-shm`, `-journal`).

    Raises:
        OSError: The database, or an extra file that SQLite would read, is not a regular file.
    """
    size = _size_of_regular(path)
    for suffix in () if immutable else _EXTRA_FILES:
        if os.path.lexists(path + suffix):
            size += _size_of_regular(path + suffix)
    uri = f"file:{quote(os.fsencode(path))}?mode=ro{'&immutable=1' if immutable else ''}"
    with closing(sqlite3.connect(uri, uri=True, timeout=timeout)) as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_ROW)
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        db.set_progress_handler(_step_limit(_STEPS + _STEPS_PER_BYTE * size), _STEPS_AT_ONCE)
        for setting in _HARDENING:
            db.execute(f"PRAGMA {setting}")
        yield db


def find_tables(db: sqlite3.Connection) -> set[str]:
    """Return the names of the ordinary tables in a database.

    Views, virtual tables and tables with computed columns are left out, because reading them may
    take unlimited time and memory.
    """
    names = [name for (name,) in db.execute(_TABLES).fetchall()]
    return {name for name in names if db.execute(_COMPUTED_COLUMNS, (name,)).fetchone() is None}


def explain_failure(error: Exception) -> str:
    """Return the reason why a database could not be read, for a message such as `FILE: REASON`."""
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return "reading takes too long for a database of this size"
    if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
        return f"a row is larger than {_LARGEST_ROW >> 20} MiB"
    return str(error)


def _size_of_regular(path: str) -> int:
    fd = open_file(path)
    try:
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def _step_limit(steps: int) -> Callable[[], bool]:
    """Return a SQLite progress handler that stops a query after this number of VM instructions."""
    remaining = steps

    def is_used_up() -> bool:
        nonlocal remaining
        remaining -= _STEPS_AT_ONCE
        return remaining < 0

    return is_used_up
