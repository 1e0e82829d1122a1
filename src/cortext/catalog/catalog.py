"""The catalog: one database with a row for each conversation, derived from the session files.

A refresh calls `stat` for each file and reads the files that changed. Each kind of source has its
own module: `workspace_conversations`, `tool_sessions`, `log_sessions` and `program_documents`.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from cortext import paths
from cortext.catalog import (
    conversation_links,
    log_sessions,
    program_documents,
    row_table,
    tool_sessions,
)
from cortext.catalog.database import MEMORY, Database, DatabaseUnavailableError, Fallback, log
from cortext.catalog.row import AUR, ConversationRow, recency
from cortext.catalog.workspace_conversations import WORKSPACE, WorkspaceRefresh
from cortext.durability.replace_file import remove_if_there, storage_errors
from cortext.errors import SessionStorageError

T = TypeVar("T")
_VERSION = 12
_SCHEMA = f"""
{row_table.SCHEMA};
CREATE TABLE shown (terminal TEXT, number INTEGER, root BLOB, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root BLOB, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID;
{conversation_links.SCHEMA}"""


class Catalog:
    """The rows of every conversation and session, in the database at `path`.

    Every method that lists rows refreshes them first, unless its docstring says otherwise.
    """

    def __init__(self, path: str) -> None:
        self.unread: builtins.list[str] = []
        """The paths that `list` could not read, with the reasons. Their rows may be missing."""
        self._database = Database(
            path, schema=_SCHEMA, version=_VERSION, name="the catalog", fallback=Fallback.MEMORY
        )

    @classmethod
    def at_home(cls) -> Catalog:
        """Return the catalog of the current user. It is in memory if its folder is not writable."""
        path = paths.catalog()
        if not os.path.lexists(path):
            _remove_former(path)
        folder = os.path.dirname(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
        return cls(path if usable else MEMORY)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def list(self, roots: Sequence[str]) -> builtins.list[ConversationRow]:
        """Refresh the workspaces with these root folders, and return their conversations.

        The most recently active conversation comes first.
        """
        return self._database.repeat(lambda: self._list(roots))

    def _list(self, roots: Sequence[str]) -> builtins.list[ConversationRow]:
        rows: builtins.list[ConversationRow] = []
        for root in roots:
            refresh = WorkspaceRefresh(root)
            rows += refresh.run(self._database)
            self.unread += refresh.unread
        return sorted(rows, key=recency, reverse=True)

    def tool_sessions(
        self, known: Iterable[ConversationRow] = (), *, patience: float | None = None
    ) -> tool_sessions.ListedToolSessions:
        """Return the sessions of AI tools that are bound to no conversation, the latest first.

        `known` has the conversations that the caller just listed. In the result, `grown` has the
        tool sessions of these conversations whose messages may not be captured yet. Reading stops
        after about `patience` seconds, and the next call reads the remaining transcripts. None
        means no limit.
        """
        began = time.time_ns()
        looks = tool_sessions.look_around()
        if not (self._database.is_there or any(look.print for look in looks.values())):
            return tool_sessions.ListedToolSessions([], changed=False, left=0, there=False)
        database = self._database
        found = database.repeat(lambda: tool_sessions.refresh(database, looks, began, patience))
        if not found.rows:
            return found
        held = {id for row in known for id in row.session_ids}
        of_known = [row for row in found.rows if row.key in held] if held else []
        grown = (
            self._run(lambda db: conversation_links.not_captured(db, of_known)) if of_known else ()
        )
        bound = self._run(conversation_links.bound_sessions)
        ids = {row.key for row in found.rows} if bound else set[str]()
        for id, folder in bound:
            if id in ids and id not in held and os.path.isdir(folder):
                held.add(id)
        rows = [row for row in found.rows if row.key not in held] if held else found.rows
        rows.sort(key=recency, reverse=True)
        return found._replace(rows=rows, grown=grown)

    def conversations_of_session(self, session_id: str) -> builtins.list[tuple[str, str]]:
        """Return workspace and path of each conversation bound to a tool session, the latest first.

        Nothing is refreshed. The result is as of the last refresh, with the bindings of `add_link`.
        """
        return self._run(lambda db: conversation_links.load_links(db, session_id))

    def add_link(self, root: str, path: str, session_id: str) -> None:
        """Store that a conversation was just bound to a tool session.

        `root` is the conversation's workspace, and `path` is its path in the workspace.
        """
        self._run(lambda db: conversation_links.add_link(db, root, path, session_id))

    def known_workspaces(self) -> builtins.list[str]:
        """Return the folders of the workspaces that had conversations at their last refresh."""
        return self._run(lambda db: row_table.source_names(db, WORKSPACE))

    def known_rows(self, root: str) -> builtins.list[ConversationRow]:
        """Return the conversations of a workspace as of its last refresh, without a new refresh."""
        rows = self._run(lambda db: row_table.load_rows(db, row_table.Source(WORKSPACE, root)))
        return [stored.row for stored in rows.values() if stored.row]

    def remember_captured(self, sessions: Iterable[ConversationRow]) -> None:
        """Record that the conversations have all messages of these tool sessions."""
        self._run(lambda db: conversation_links.store_captured(db, sessions))

    def log_sessions(
        self, folder: str, tool: str = AUR, *, lost: str = "interrupted"
    ) -> builtins.list[ConversationRow]:
        """Return the sessions in a folder of logs as rows of `tool`, the latest first.

        `lost` is the status for a session that says it is active, but that no process has open.
        Raises SessionStorageError if the folder cannot be read.
        """
        folder = os.path.abspath(os.path.expanduser(folder))
        database = self._database
        with storage_errors("list", folder):
            return database.repeat(lambda: log_sessions.list_logs(database, folder, tool, lost))

    def document_sessions(
        self, shelves: Sequence[program_documents.DocumentFolder], *, patience: float | None = None
    ) -> program_documents.ListedDocuments:
        """Return the sessions that programs store as documents in the folders `shelves`.

        Reading stops after about `patience` seconds, and the next call reads the remaining
        documents. None means no limit.
        """
        began, database = time.time_ns(), self._database
        return database.repeat(
            lambda: program_documents.refresh(database, shelves, began, patience)
        )

    def copies(self, known: Iterable[ConversationRow]) -> dict[str, int]:
        """Return the standalone sessions that were imported as conversations.

        The keys are sessions of `aur spawn` and of programs, as TOOL:ID. The values are the times
        of the latest activity of the conversations. `known` has the conversations that the caller
        just listed, and nothing is refreshed.
        """
        found: dict[str, int] = {}
        for id, folder, at in self._run(conversation_links.copied_sessions):
            if at > found.get(id, 0) and os.path.isdir(folder):
                found[id] = at
        for row in known:
            for id in row.source_ids:
                found[id] = max(row.last_active, found.get(id, 0))
        return found

    def purge(self, shelves: Collection[str] | None = None) -> None:
        """Remove all traces of deleted conversations from the catalog file.

        If `shelves` is given, the rows of documents outside these folders are deleted as well.
        Raises SessionStorageError if the file can be neither cleaned nor deleted.
        """
        listed = self.list(self.known_workspaces())
        there = {(os.fsencode(row.workspace), row.path) for row in listed}
        self._run(tool_sessions.forget_unmasked)
        self.tool_sessions()

        def write(db: sqlite3.Connection) -> None:
            told = db.execute("SELECT root, path FROM told").fetchall()
            gone = [row for row in told if tuple(row) not in there]
            db.executemany("DELETE FROM told WHERE root = ? AND path = ?", gone)
            db.execute("DELETE FROM shown")
            program_documents.forget_gone(db, shelves)
            log_sessions.forget_changed(db)

        self._run(write)
        try:
            self._database.purge()
        except DatabaseUnavailableError as error:
            raise SessionStorageError(f"could not remove the catalog: {error}") from error

    def remember_shown(self, terminal: str, rows: Iterable[ConversationRow]) -> None:
        """Store which rows a terminal just listed. Its next command can name them by number."""
        numbered = [
            (terminal, n, os.fsencode(root), path)
            for n, (root, path) in enumerate((row.identity for row in rows), 1)
        ]

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM shown WHERE terminal = ?", (terminal,))
            db.executemany("INSERT INTO shown VALUES (?,?,?,?)", numbered)

        self._run(write)

    def shown(self, terminal: str, number: int) -> tuple[str, str] | None:
        """Return the identity of the row with this number in the terminal's last list, or None."""
        query = "SELECT root, path FROM shown WHERE terminal = ? AND number = ?"
        found = self._run(lambda db: db.execute(query, (terminal, number)).fetchone())
        return (os.fsdecode(found[0]), found[1]) if found else None

    def find_unannounced(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return the paused rows that were not announced to the user since their last activity."""
        return self._run(lambda db: _find_unannounced(db, rows))

    def tell_once(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return the rows that `find_unannounced` returns, and record them as announced.

        A row can be returned again after new activity.
        """

        def write(db: sqlite3.Connection) -> builtins.list[ConversationRow]:
            new = _find_unannounced(db, rows)
            db.executemany("INSERT OR REPLACE INTO told VALUES (?,?,?)", map(_told_key, new))
            return new

        return self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._database.repeat(lambda: self._database.run(work))


def _remove_former(path: str) -> None:
    """Delete the catalog of an early version, which was in the data folder."""
    former = paths.former_catalog()
    if former == path or not os.path.lexists(former):
        return
    try:
        for suffix in ("", "-wal", "-shm"):
            remove_if_there(former + suffix)
    except OSError as error:
        log.info("%s is not used any more, and cannot be removed: %s", former, error)


def _find_unannounced(
    db: sqlite3.Connection, rows: Iterable[ConversationRow]
) -> list[ConversationRow]:
    told = {tuple(row) for row in db.execute("SELECT root, path, paused_at FROM told")}
    return [row for row in rows if _told_key(row) not in told]


def _told_key(row: ConversationRow) -> tuple[bytes, str, int]:
    return os.fsencode(row.workspace), row.path, row.last_active
