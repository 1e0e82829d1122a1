"""Logs as lists show them, derived from the files: the sessions of `aur spawn`, and of programs.

A list costs a `stat` for each session, and a read for each that changed. Every such list imports
this module; the module that reads a session is imported when one changed.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from cortext.catalog import row_table
from cortext.catalog.database import Database, is_damage
from cortext.catalog.row import AUR, ConversationRow, recency
from cortext.catalog.row_table import FRESH_NS, Source, StoredRow
from cortext.durability.replace_file import side_dir, storage_errors

T = TypeVar("T")
SUFFIX = ".jsonl"
_VERSION = 6


class ReadRow(NamedTuple):
    """A session that was read: its row, and the fingerprint of the file, or None where that does
    not tell whether it changes."""

    row: ConversationRow
    found: tuple[int, int, int] | None


class _FolderLook(NamedTuple):
    """A look at the folder that is open as `fd`: when it began, and the folder's time."""

    fd: int
    began: int
    time: int

    def is_settled(self, time: int) -> bool:
        """Whether a file with this time gets another when it is written again."""
        return time < self.began - FRESH_NS


class LogIndex:
    """The sessions of one folder, as those of a tool. The files are the truth: whatever is wrong
    with the database, it is made anew, and where nothing can be written it lasts as long as we do.

    A row's `last_active` is the time of the last turn, or of the beginning. What is active on
    disk is so while somebody has it open, and else interrupted, for which `lost` is the word. A
    damaged session is listed with a note; a torn last line is no damage.
    """

    def __init__(self, folder: str, tool: str = AUR, *, lost: str = "interrupted") -> None:
        self.tool = tool
        self._lost = lost
        self.folder: str = os.path.abspath(os.path.expanduser(folder))
        self._database: Database | None = None
        self._left: Database | None = None
        """One on the disk that could not be used."""

    def __enter__(self) -> LogIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def list(self) -> builtins.list[ConversationRow]:
        """All that is there now, the latest first. SessionStorageError if the folder cannot be
        read."""
        with storage_errors("list", self.folder):
            try:
                fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                return []
            try:
                if not os.path.exists(self._path) and not _ids(fd):
                    return []
                rows = self._safely(lambda: self._refresh(fd))
            finally:
                os.close(fd)
        return rows

    def purge(self) -> None:
        """Forget what is not there any more, also in the pages that it stood on."""
        self.list()
        if self._database is not None:
            self._safely(self._database.purge)
        if self._left is not None:
            with storage_errors("remove", self._path):
                self._left.remove_own()

    @property
    def _path(self) -> str:
        return f"{self.folder}/.cortext/spawned.sqlite3"

    def _refresh(self, fd: int) -> builtins.list[ConversationRow]:
        """Return the rows of the folder that is open, after reading what changed."""
        look = _FolderLook(fd, time.time_ns(), os.fstat(fd).st_mtime_ns)
        source = Source("log", self.folder)
        known, folders = self._run(
            lambda db: (row_table.load_rows(db, source), row_table.load_folders(db, source))
        )
        changed = _changed(fd, known)
        # A folder with the same time has the same names.
        same = folders.get("") == str(look.time) and look.is_settled(look.time)
        new = changed if same else (_ids(fd) - known.keys()) | changed
        if new or not same:
            self._read(source, known, new, look)
        rows = self._with_status([stored.row for stored in known.values() if stored.row])
        rows.sort(key=recency, reverse=True)
        return rows

    def _with_status(self, rows: builtins.list[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return the rows with the status of sessions that nobody has open."""
        live, lost = Live(self.folder), self._lost
        return [
            replace(row, status=lost)
            if row.status != lost
            and (row.status == "interrupted" or (row.status == "active" and row.key not in live))
            else row
            for row in rows
        ]

    def _read(
        self, source: Source, known: dict[str, StoredRow], ids: set[str], look: _FolderLook
    ) -> None:
        """Read the sessions that are new or changed into `known`, and store them."""
        new: dict[str, StoredRow] = {}
        for id in ids:
            if not _is_session(self.folder, id):
                continue
            from cortext.catalog.log_rows import read_log

            old = known[id].row if id in known else None
            read = read_log(self.folder, id, old, self.tool)
            if read is None:
                continue
            settled = read.found is not None and look.is_settled(read.found[2])
            new[id] = StoredRow(_fingerprint(read.found) if settled else "", read.row)
        gone = [id for id in ids if id in known and id not in new]
        written = {id: row for id, row in new.items() if row != known.get(id)}
        for id in gone:
            del known[id]
        known.update(new)
        folders = {"": str(look.time)} if look.is_settled(look.time) else {}

        def write(db: sqlite3.Connection) -> None:
            row_table.store_rows(db, source, written, gone)
            row_table.store_folders(db, source, folders, () if folders else ("",))

        self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._database is None:
            side_dir(self.folder)
            self._database = Database(self._path, schema=row_table.SCHEMA, version=_VERSION)
        return self._database.run(work)

    def _safely(self, work: Callable[[], T]) -> T:
        """Do it, if need be with the database made anew, or, where there cannot be one, with one
        that lasts as long as we do."""
        try:
            return work()
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._begin_anew(error)
        try:
            return work()
        except (sqlite3.Error, OSError) as error:
            self._in_memory(error)
        return work()

    def _begin_anew(self, error: Exception) -> None:
        damaged = not isinstance(error, sqlite3.DatabaseError) or is_damage(error)
        if damaged and self._database is not None and not isinstance(error, OSError):
            try:
                self._database.discard()
            except (sqlite3.Error, OSError) as failure:
                error = failure
            else:
                _log("the index of %s is made anew: %s", self.folder, error)
                return
        self._in_memory(error)

    def _in_memory(self, error: Exception) -> None:
        _log("lists of %s take longer, because there is no index: %s", self.folder, error)
        self.close()
        self._left = self._left or Database(self._path, schema=row_table.SCHEMA, version=_VERSION)
        self._database = Database(":memory:", schema=row_table.SCHEMA, version=_VERSION)


class Live:
    """The sessions of a folder that somebody has open now."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._marks: set[str] | None = None

    def __contains__(self, id: str) -> bool:
        if self._marks is None:
            self._marks = self._all_marks()
        if id not in self._marks:
            return False
        from cortext.durability.lifetime_lock import live_holder, mark_path

        try:
            return live_holder(mark_path(self._folder, id)) is not None
        except OSError:
            return False  # a link or a folder, which nobody of ours put there

    def _all_marks(self) -> set[str]:
        from cortext.durability.lifetime_lock import mark_path

        try:
            return set(os.listdir(mark_path(self._folder)))
        except OSError:
            return set()


def _ids(fd: int) -> set[str]:
    """What the files of a folder are called that may be sessions."""
    cut = -len(SUFFIX)
    return {name[:cut] for name in os.listdir(fd) if name.endswith(SUFFIX)}


def _changed(fd: int, known: Mapping[str, StoredRow]) -> set[str]:
    """Return the ids of the logs that changed, in the folder that is open as `fd`."""
    changed: set[str] = set()
    stat = os.stat
    # A plain loop: in a long list this takes most of the time.
    for id, stored in known.items():
        try:
            found = stat(id + SUFFIX, dir_fd=fd)
        except OSError:
            changed.add(id)
            continue
        if stored.fingerprint != f"{found.st_ino} {found.st_size} {found.st_mtime_ns}":
            changed.add(id)
    return changed


def _fingerprint(found: tuple[int, int, int] | None) -> str:
    return " ".join(map(str, found)) if found else ""


def _is_session(folder: str, id: str) -> bool:
    from cortext.stores.session_file_names import is_id

    return is_id(id) and not os.path.isdir(f"{folder}/{id}{SUFFIX}")


def _log(sentence: str, *facts: object) -> None:
    import logging

    logging.getLogger("cortext.catalog").info(sentence, *facts)
