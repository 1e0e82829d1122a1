"""A SQLite database that is made from session files and can be rebuilt from them at any time.

Any number of processes may share the database. Two functions decide what happens if it is damaged
or cannot be used: `_connect_or_recreate` while the file is opened, and `Database.recover` later.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TypeVar

from cortext.durability.durable_files import make_private_dir, remove_if_there
from cortext.durability.file_lock import FileLock
from cortext.errors import SessionLockedError, reason_of

T = TypeVar("T")
MEMORY = ":memory:"
"""The path of a database in memory, which lasts as long as its connection."""
_BUSY_MS = 10_000
# The database can be rebuilt, so a write is atomic but does not wait for the disk.
_SYNCHRONOUS = "PRAGMA synchronous=NORMAL"
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

log: logging.Logger = logging.getLogger("cortext.catalog")


class DatabaseUnavailableError(sqlite3.OperationalError):
    """The database file cannot be created, opened or deleted."""


class Fallback(Enum):
    """What a `Database` uses if its file cannot be used."""

    NONE = "the error is raised"
    MEMORY = "a database in memory"
    READ_ONLY = "the file, opened read-only; if that fails, a database in memory"


class Database:
    """A database in one file, made from session files. The file is created on first use.

    - `schema`: the SQL statements that create the tables
    - `version`: the number of the schema. A file with another number is created again
    - `name`: the name of the database in log messages
    - `fallback`: what to use if the file cannot be used
    - `mapped_bytes`: the number of bytes of the file that SQLite may map into memory

    The attribute `is_fresh` is True after this object created the tables.
    """

    def __init__(
        self,
        path: str,
        *,
        schema: str,
        version: int,
        name: str,
        fallback: Fallback = Fallback.NONE,
        mapped_bytes: int = 0,
    ) -> None:
        self._path = path
        self._name = name
        self._schema = schema
        self._version = version
        self._fallback = fallback
        self._mapped_bytes = mapped_bytes
        self._db: sqlite3.Connection | None = None
        self._pid = 0
        self._inode = 0
        self._abandoned_path = ""
        """The unusable file that a database in memory replaces; "" if there is none."""
        self.is_read_only: bool = False
        self.is_fresh: bool = False
        self.generation: int = 0
        """A number that grows each time the database is replaced, because rows are then lost."""

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the open database in one transaction, and return its result."""
        db = self._open()
        with db:
            return work(db)

    def repeat(self, operation: Callable[[], T]) -> T:
        """Call `operation` and return its result. After a database error, repair and retry.

        If the database is damaged, it is deleted and created again, empty. If its file cannot be
        used, the file is not changed, and the `fallback` is used from now on. Both steps are
        logged. If no step can correct the error, such as an invalid query, the error is raised.
        """
        try:
            return operation()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.recover(error, may_make_again=True)
        try:
            return operation()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.recover(error, may_make_again=False)
        return operation()

    @property
    def path(self) -> str:
        """The path of the database file, or `MEMORY`."""
        return self._path

    @property
    def is_there(self) -> bool:
        """Whether the database is open, or its file exists."""
        return self._db is not None or os.path.exists(self._path)

    @property
    def is_in_memory(self) -> bool:
        return self._path == MEMORY

    def ready(self) -> None:
        """Open the database, and create it if necessary.

        After the call, `is_fresh` says whether this object created the database.
        """
        self._open()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def compact(self) -> bool:
        """Remove deleted data from the file, and return whether all of it was removed.

        Deleted data may remain while another process reads the file.
        """
        db = self._open()
        db.execute("VACUUM")
        return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    def purge(self) -> None:
        """Remove deleted data from the disk. If that is not possible, delete the whole database.

        Raises DatabaseUnavailableError if the file cannot be deleted either.
        """
        try:
            is_done = self.compact()
        except sqlite3.Error:
            is_done = False
        if not is_done:
            self.remove()
        if self._abandoned_path and _is_file(self._abandoned_path):
            with _convert_file_errors():
                remove_database(self._abandoned_path)

    def discard(self) -> None:
        """Delete the database, and open an empty one at the same path."""
        self.remove()
        self._open()

    def remove(self) -> None:
        """Delete the files of the database. The next use creates them again, empty."""
        self.close()
        if not self.is_in_memory:
            with _convert_file_errors():
                remove_database(self._path)

    def use_memory(self, reason: object) -> None:
        """Continue with an empty database in memory, and log `reason`. The file does not change."""
        log.warning("%s cannot be used, so this command takes longer: %s", self._name, reason)
        self.close()
        self._abandoned_path = self._abandoned_path or self._path
        self._path = MEMORY
        self.is_read_only = False
        self.generation += 1

    def recover(
        self, error: sqlite3.Error | UnicodeDecodeError, *, may_make_again: bool = True
    ) -> None:
        """Repair or replace the database after `error`, or raise `error` if this would not help.

        If the database is damaged and `may_make_again` is true, it is deleted and created again.
        Otherwise, or if this fails, the `fallback` is used. `error` is raised if there is no
        fallback, if a fallback is already in use, and if a query was invalid.
        """
        if self.is_in_memory or self.is_read_only or is_bad_query(error):
            raise error
        if may_make_again and is_damage(error):
            try:
                self.discard()
            except sqlite3.Error as failure:
                error = failure
            else:
                self._warn_rebuilt(error)
                self.generation += 1
                return
        if self._fallback is Fallback.MEMORY:
            self.use_memory(error)
        elif self._fallback is Fallback.READ_ONLY and self._db is None:
            self._use_read_only(error)
        else:
            raise error

    def _use_read_only(self, error: Exception) -> None:
        self.close()
        try:
            self._db, self._pid = connect_read_only(self._path, self._version), os.getpid()
        except sqlite3.Error:
            self.use_memory(error)
            return
        log.warning("%s cannot be written, so new messages are not found: %s", self._name, error)
        self._inode = self._inode_on_disk()
        self.is_read_only = True
        self.generation += 1

    def _warn_rebuilt(self, error: object) -> None:
        # After an upgrade a rebuild is normal, and no reason for a warning.
        level = logging.INFO if isinstance(error, OtherVersionError) else logging.WARNING
        log.log(level, "%s is rebuilt, because it could not be read: %s", self._name, error)

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and self._pid == os.getpid() and self._is_current():
            return self._db
        self.close()
        with _convert_file_errors():
            self._db, self._pid = self._connect(), os.getpid()
            if self._mapped_bytes:
                self._db.execute(f"PRAGMA mmap_size={self._mapped_bytes}")
            self._inode = self._inode_on_disk()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        if self.is_read_only:
            return connect_read_only(self._path, self._version)
        if self.is_in_memory:
            return self._connect_to(self._create_tables)
        make_private_dir(os.path.dirname(self._path))
        if _is_file(self._path):
            try:
                with self._prevent_replacement():
                    return self._connect_to(_refuse_other_version)
            except sqlite3.DatabaseError as error:
                if (
                    not is_damage(error)
                    and error.sqlite_errorcode & 0xFF not in _REPLACEMENT_ERRORS
                ):
                    raise
        with _replacement_lock(self._path):
            return self._connect_or_recreate()

    def _connect_or_recreate(self) -> sqlite3.Connection:
        """Connect to the file. Create the file again if it is damaged or has another version."""
        self._create_file()
        try:
            return self._connect_to(self._create_tables)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            _remove_files(self._path)
            self._warn_rebuilt(error)
        self._create_file()
        return self._connect_to(self._create_tables)

    @contextmanager
    def _prevent_replacement(self) -> Generator[None]:
        """Hold a lock that prevents other processes from replacing the database files.

        SQLite opens the database and its write-ahead log one after the other, by name. Both must
        belong to the same database.
        """
        lock = FileLock(f"{self._path}-lock", guards=self._path, shared=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(lock)
            except SessionLockedError:
                raise
            except OSError:
                pass  # if no lock file can be created, no process can replace the database either
            yield

    def _inode_on_disk(self) -> int:
        """Return the inode of the file on disk; 0 if there is no file."""
        if self.is_in_memory:
            return 0
        try:
            return os.stat(self._path).st_ino
        except FileNotFoundError:
            return 0

    def _is_current(self) -> bool:
        """Return whether the open file is still at its path.

        Another process may have replaced or deleted the file.
        """
        return self.is_in_memory or 0 != self._inode_on_disk() == self._inode

    def _connect_to(self, make: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
        """Connect to the file, and return the connection.

        If the file is new or has another schema version, call `make` with the connection. `make`
        must create the tables or raise an error.
        """
        db = sqlite3.connect(self._path, timeout=_BUSY_MS / 1000, check_same_thread=False)
        try:
            db.execute(_SYNCHRONOUS)
            if db.execute("PRAGMA user_version").fetchone()[0] != self._version:
                make(db)
        except BaseException:
            db.close()
            raise
        return db

    def _create_file(self) -> None:
        """Create the file with mode 0600, unless it exists.

        If SQLite created the file, the mode would depend on the umask. An existing file is checked,
        but not opened: closing it would release the locks that SQLite has on it. Raises OSError if
        there is a symbolic link or a folder at the path.
        """
        try:
            os.close(os.open(self._path, _CREATE_FLAGS, 0o600))
        except FileExistsError:
            if os.path.islink(self._path):
                reason = os.strerror(errno.ELOOP)
                raise OSError(errno.ELOOP, reason, self._path) from None
            self._check_file()

    def _check_file(self) -> None:
        """Raise OSError if there is a folder at the path, and log a warning if the file is empty.

        A file that was created in the last seconds may be empty, because another process is about
        to fill it.
        """
        if os.path.isdir(self._path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._path)
        status = os.stat(self._path)
        if not status.st_size and status.st_mtime < time.time() - _BUSY_MS / 1000:
            self._warn_rebuilt("it is empty")

    def _create_tables(self, db: sqlite3.Connection) -> None:
        # A new database has no data to lose, and other processes wait for it.
        db.execute("PRAGMA synchronous=OFF")
        _enable_write_ahead_log(db)
        with closing(db.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            version = cursor.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                if cursor.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise UnreadableError("another program created the file")
                for statement in _statements(self._schema):
                    cursor.execute(statement)
                cursor.execute(f"PRAGMA user_version={self._version}")
                self.is_fresh = True
            elif version != self._version:
                raise OtherVersionError(f"it has version {version}")
            db.commit()
        db.execute(_SYNCHRONOUS)


def connect_read_only(path: str, version: int, *, wait: float = 5.0) -> sqlite3.Connection:
    """Connect to the database at `path` without changing it.

    `version` is the expected number of its schema. `wait` is how many seconds to wait if the
    database is locked. Raises sqlite3.Error if the file cannot be read or has another version.
    """
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Prefer a connection that reads the write-ahead log, if SQLite can read the log.
    for option in ("mode=ro", "immutable=1"):
        uri = f"file:{name}?{option}"
        db = sqlite3.connect(uri, timeout=wait, uri=True, check_same_thread=False)
        try:
            found = db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError:
            db.close()
            continue
        if found == version:
            return db
        db.close()
    raise UnreadableError("the file cannot be read")


def _statements(schema: str) -> Iterator[str]:
    """Yield the SQL statements of a schema.

    A trigger is one statement, although it contains ";".
    """
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


def _refuse_other_version(db: sqlite3.Connection) -> None:
    raise OtherVersionError("it has another version, or is incomplete")


def _enable_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the database to a write-ahead log, and retry while the database is locked.

    SQLite does not wait here: if two processes switch at the same time, one of them gets a lock
    error at once.
    """
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


class UnreadableError(sqlite3.DatabaseError):
    """The database can be opened, but this version of cortext cannot read its contents."""


class OtherVersionError(UnreadableError):
    """Another version of cortext made the database."""


def is_damage(error: Exception) -> bool:
    """Return whether deleting and rebuilding the database would fix an error.

    Return False for a busy database, a full disk or an invalid query.
    """
    if isinstance(error, (UnreadableError, UnicodeDecodeError)):
        return True
    if isinstance(error, DatabaseUnavailableError) or is_bad_query(error):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in _DAMAGE_CODES


def is_bad_query(error: Exception) -> bool:
    """Return whether an error means that the syntax of a full-text query is invalid."""
    return str(error).startswith("fts5: ")


@contextmanager
def _convert_file_errors() -> Generator[None]:
    """Turn file-system errors in the `with` block into DatabaseUnavailableError.

    A time-out while waiting for a lock is such an error too.
    """
    try:
        yield
    except OSError as error:
        raise DatabaseUnavailableError(reason_of(error)) from error


def remove_database(path: str) -> None:
    """Delete the database at `path` and its `-wal` and `-shm` files. Raises OSError on failure."""
    with _replacement_lock(path):
        _remove_files(path)


def _replacement_lock(path: str) -> FileLock:
    """Return the lock to hold while the files of a database are created or deleted.

    SQLite does not expect files to appear or disappear while it opens them.
    """
    return FileLock(f"{path}-lock", guards=path)


def _remove_files(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        remove_if_there(path + suffix)


_DAMAGE_CODES = frozenset(
    (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_NOTADB,
    )
)
# Errors while opening a database whose files another process is replacing.
_REPLACEMENT_ERRORS = frozenset((sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN))
_LARGEST_INTEGER = 2**63 - 1


def bounded(number: int) -> int:
    """Limit a number to the range of the integers that SQLite can store."""
    return min(max(number, -_LARGEST_INTEGER), _LARGEST_INTEGER)


def micros(when: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (when - _EPOCH) // timedelta(microseconds=1)


def plain(text: str) -> str:
    """Return text with lone surrogates replaced by "?", because SQLite cannot store them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def folded(text: str) -> str:
    """Return text in a form for comparisons that ignore case. Lone surrogates are replaced."""
    return plain(text).casefold()
