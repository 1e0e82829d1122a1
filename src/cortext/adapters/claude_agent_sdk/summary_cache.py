"""A cache of the summaries that the SDK shows in lists of sessions.

A summary is computed from the entries of a session. If the session has changed since then, the next
list computes the summary again. Appending to a session does not update its summary: if two
processes appended at once, one of the two updates would be lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from cortext.adapters.session_log import log
from cortext.durability.durable_files import side_dir
from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.workspace.agent_sdk_summaries_file import summaries_path

if TYPE_CHECKING:
    from sqlite3 import Connection

_TABLE = """
CREATE TABLE IF NOT EXISTS summaries (
    id TEXT PRIMARY KEY, project TEXT, time INTEGER, size INTEGER, data BLOB
) WITHOUT ROWID
"""


class Stamp(NamedTuple):
    """The last write time and the size of a session. They change with each write.

    `time` is in nanoseconds. `size` is the size of the file, or the number of messages in a store
    without files.
    """

    time: int
    size: int


class Summaries:
    """The cached summaries of one store, in memory and in a file in `folder`.

    If `folder` is None, there is no file. The file can be deleted at any time. Without the file,
    lists of sessions only take longer.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._cached: dict[str, tuple[Stamp, Any]] = {}

    def of(
        self, project: str, sessions: Iterable[tuple[str, Stamp]], make: Callable[[str], Any]
    ) -> dict[str, Any]:
        """Return the summaries of sessions of a project, by session id.

        `sessions` are pairs of session id and current stamp. `make` computes the summary for a
        session id. It is called only for sessions that changed or are not in the cache.
        """
        wanted = dict(sessions)
        if any(self._is_outdated(id, stamp) for id, stamp in wanted.items()):
            self._with_file(lambda db: self._read(db, project))
        outdated = [id for id, stamp in wanted.items() if self._is_outdated(id, stamp)]
        for id in outdated:
            self._cached[id] = wanted[id], make(id)
        if outdated:
            self._with_file(lambda db: self._write(db, project, outdated))
        return {id: self._cached[id][1] for id in wanted}

    def forget(self, id: str) -> None:
        self._cached.pop(id, None)

        def delete(db: Connection) -> None:
            db.execute("DELETE FROM summaries WHERE id = ?", (id,))

        self._with_file(delete)

    def _is_outdated(self, id: str, stamp: Stamp) -> bool:
        return id not in self._cached or self._cached[id][0] != stamp

    def _read(self, db: Connection, project: str) -> None:
        query = "SELECT id, time, size, data FROM summaries WHERE project = ?"
        for id, time, size, data in db.execute(query, (project,)):
            # A summary in memory is newer than the summary in the file, so it stays.
            self._cached.setdefault(id, (Stamp(time, size), json_codec.decode(data)))

    def _write(self, db: Connection, project: str, ids: list[str]) -> None:
        rows = [
            (id, project, *self._cached[id][0], json_codec.encode(self._cached[id][1]))
            for id in ids
        ]
        db.executemany("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?)", rows)

    def _with_file(self, work: Callable[[Connection], None]) -> None:
        if self._folder is None or not os.path.isdir(self._folder):
            return
        import sqlite3

        path = summaries_path(self._folder)
        try:
            side_dir(self._folder)
            with closing(sqlite3.connect(path, timeout=1)) as db, db:
                db.execute("PRAGMA synchronous = OFF")  # a lost summary is computed again
                db.execute(_TABLE)
                work(db)
        except (sqlite3.Error, OSError, ValueError, CortextError) as error:
            log.info("the summary cache %s cannot be written: %s", path, error)
            # Only this error means that the file is damaged. Other errors may be temporary.
            if type(error) is sqlite3.DatabaseError:
                _remove(path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        log.info("%s cannot be removed: %s", path, error)
