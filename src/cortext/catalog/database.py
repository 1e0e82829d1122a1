"""A derived SQLite database, shared by any number of processes.

This module is imported by every list, so it imports next to nothing.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from cortext.durability.replace_file import remove_if_there

if TYPE_CHECKING:
    from cortext.durability.file_lock import FileLock

T = TypeVar("T")
_BUSY_MS = 10_000
# An index can be rebuilt: a write has to be whole, but need not wait for the disk.
_SYNCHRONOUS = "PRAGMA synchronous=NORMAL"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Database:
    """Whatever is wrong with the database file, it is made anew, empty: `fresh` says so,
    and the session files have everything. `schema` is statements, `version` its number. With a
    `name` for people it is said when one that was there is made anew. One that is `fixed` is read
    as it is, on a disk where nobody can write: it has to be there."""

    def __init__(
        self, path: str, *, schema: str, version: int, fixed: bool = False, name: str = ""
    ) -> None:
        self._path = path
        self._name = name
        self._fixed = fixed
        self._schema = schema
        self._version = version
        self._db: sqlite3.Connection | None = None
        self._pid = 0
        self._inode = 0
        self.fresh: bool = False

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in one transaction."""
        db = self._open()
        with db:
            return work(db)

    @property
    def is_there(self) -> bool:
        """Whether it was made already."""
        return self._db is not None or os.path.exists(self._path)

    @property
    def is_open(self) -> bool:
        return self._db is not None

    def ready(self) -> None:
        """Open it if it is not; `fresh` then says whether it had to be made."""
        self._open()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def compact(self) -> bool:
        """Leave nothing in the file of what was deleted; False while somebody reads that still."""
        db = self._open()
        db.execute("VACUUM")
        return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def purge(self) -> None:
        """As `compact`, for certain: what cannot be taken out of the file goes with it."""
        try:
            done = self.compact()
        except sqlite3.Error:
            done = False
        if not done:
            self.remove()

    def discard(self) -> None:
        """Throw the database away and begin with an empty one."""
        self.remove()
        self._open()

    def remove(self) -> None:
        """Throw the database away; whoever needs it next makes it anew."""
        self.close()
        with self._alone():
            self._remove()

    def remove_own(self) -> None:
        """The same, unless something else than a file stands there: that is not ours."""
        if _is_file(self._path):
            self.remove()

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            remove_if_there(self._path + suffix)

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and self._pid == os.getpid() and self._is_current():
            return self._db
        self.close()
        self._db, self._pid = self._connect(), os.getpid()
        self._inode = self._inode_there()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        if self._fixed:
            return self._connect_fixed()
        if self._path == ":memory:":
            return self._connect_to(self._make)
        if _is_file(self._path):
            try:
                with self._while_nobody_replaces_it():
                    return self._connect_to(_refuse)
            except sqlite3.DatabaseError as error:
                if not is_damage(error) and error.sqlite_errorcode & 0xFF not in _TORN:
                    raise
        with self._alone():
            return self._connect_or_mend()

    def _connect_or_mend(self) -> sqlite3.Connection:
        self._make_file()
        try:
            return self._connect_to(self._make)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._remove()
            self._tell(error)
        self._make_file()
        return self._connect_to(self._make)

    def _alone(self) -> FileLock:
        """Who makes or removes the files is alone with that: SQLite is not made for files that
        come and go while somebody opens them."""
        from cortext.durability.file_lock import FileLock

        return FileLock(f"{self._path}-lock", guards=self._path)

    @contextmanager
    def _while_nobody_replaces_it(self) -> Generator[None]:
        """Let nobody make or remove the files: SQLite opens the database by its name and then the
        write-ahead log by its name, and both have to belong together."""
        from cortext.durability.file_lock import FileLock
        from cortext.errors import SessionLockedError

        lock = FileLock(f"{self._path}-lock", guards=self._path, shared=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(lock)
            except SessionLockedError:
                raise
            except OSError:
                pass  # where no lock file can be made, nobody can replace the database either
            yield

    def _inode_there(self) -> int:
        """The number of the file; 0 if there is none."""
        if self._path == ":memory:":
            return 0
        try:
            return os.stat(self._path).st_ino
        except FileNotFoundError:
            return 0

    def _tell(self, error: Exception | str) -> None:
        if self._name:
            import logging

            logging.getLogger("cortext.catalog").warning("%s is made anew: %s", self._name, error)

    def _is_current(self) -> bool:
        """Whether the file that we have open is the one that is there: another process may
        have found it damaged and made it anew."""
        return self._path == ":memory:" or 0 != self._inode_there() == self._inode

    def _connect_to(self, make: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
        """Connect to the file that is there; `make` is called if it is not as we make them."""
        db = sqlite3.connect(self._path, timeout=_BUSY_MS / 1000, check_same_thread=False)
        try:
            db.execute(_SYNCHRONOUS)
            if db.execute("PRAGMA user_version").fetchone()[0] != self._version:
                make(db)
        except BaseException:
            db.close()
            raise
        return db

    def _make_file(self) -> None:
        """Made here, because SQLite would make it with the mode that the umask gives. One that is
        there is not even opened: closing it would free the locks that SQLite has on it."""
        try:
            os.close(os.open(self._path, _NEW, 0o600))
        except FileExistsError:
            if os.path.islink(self._path):
                reason = os.strerror(errno.ELOOP)
                raise OSError(errno.ELOOP, reason, self._path) from None
            self._look_inside()

    def _look_inside(self) -> None:
        """SQLite takes an empty file for a new one; another process may be making that just now.
        Of a folder it would not say that it is one."""
        if os.path.isdir(self._path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._path)
        found = os.stat(self._path)
        if not found.st_size and found.st_mtime < time.time() - _BUSY_MS / 1000:
            self._tell("it is empty")

    def _connect_fixed(self) -> sqlite3.Connection:
        from urllib.parse import quote

        name = quote(os.fsencode(self._path))
        # With what is not in the file yet, if SQLite can read that.
        for how in ("mode=ro", "immutable=1"):
            db = sqlite3.connect(f"file:{name}?{how}", uri=True, check_same_thread=False)
            try:
                version = db.execute("PRAGMA user_version").fetchone()[0]
            except sqlite3.DatabaseError:
                db.close()
                continue
            if version == self._version:
                return db
            db.close()
        raise Unreadable("what is there cannot be read")

    def _make(self, db: sqlite3.Connection) -> None:
        # An empty database has nothing to lose, and other processes wait until it is made.
        db.execute("PRAGMA synchronous=OFF")
        _write_ahead(db)
        with closing(db.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            version = cursor.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                if cursor.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise Unreadable("another program made it")
                for statement in _statements(self._schema):
                    cursor.execute(statement)
                cursor.execute(f"PRAGMA user_version={self._version}")
                self.fresh = True
            elif version != self._version:
                raise Unreadable(f"it has version {version}")
            db.commit()
        db.execute(_SYNCHRONOUS)


def _statements(schema: str) -> Iterator[str]:
    """Each of a schema; that of a trigger has others in it."""
    statement = ""
    for part in schema.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _refuse(db: sqlite3.Connection) -> None:
    raise Unreadable("it is of another version, or not made to its end")


def _write_ahead(db: sqlite3.Connection) -> None:
    """Change how it is written. Two processes that do this at once stand in each other's way, and
    SQLite then tells one of them that it is locked without having waited."""
    end = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
            time.sleep(0.002)
        else:
            return


class Unreadable(sqlite3.DatabaseError):
    """The database can be opened, and what it holds makes no sense to us."""


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether a new database would help; a busy one, a full disk or a bad call it would not."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return isinstance(error, Unreadable) or code in _DAMAGE


_DAMAGE = frozenset(
    (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_NOTADB,
    )
)
# What whoever opens it may see while another removes its files and makes them anew.
_TORN = frozenset((sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN))
_LARGEST = 2**63 - 1


def bounded(number: int) -> int:
    """A number that fits into SQLite's."""
    return min(max(number, -_LARGEST), _LARGEST)


def micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)


def plain(text: str) -> str:
    """Text that SQLite can hold: half characters have no place in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def folded(text: str) -> str:
    """As `plain`, for comparing without case."""
    return plain(text).casefold()
