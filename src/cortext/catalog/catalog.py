"""The catalog: a database with one row for each conversation and session, made from their files.

Lists read these rows and not the files. A refresh calls `stat` for each file, reads the files that
changed, and updates their rows. The modules `workspace_refresh`, `tool_session_refresh`,
`log_session_refresh` and `document_refresh` refresh one kind of source each.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from cortext.catalog import (
    log_session_refresh,
    message_and_token_counts,
    row_table,
    session_links,
    tool_session_refresh,
    usage_table,
)
from cortext.catalog.catalog_database import catalog_path, open_catalog
from cortext.catalog.documents import document_refresh
from cortext.catalog.rebuildable_database import DatabaseUnavailableError
from cortext.catalog.row import AUR, ConversationRow, recency
from cortext.catalog.workspace_refresh import WORKSPACE, WorkspaceRefresh
from cortext.errors import SessionStorageError

T = TypeVar("T")


class Catalog:
    """The catalog: the rows of all conversations and sessions, stored in a database.

    `path` is the path of the database file, or `MEMORY` for a database in memory. Each method that
    returns rows first updates them from the files, unless its docstring says otherwise.
    """

    def __init__(self, path: str) -> None:
        self.unread: builtins.list[str] = []
        """The paths that `list` could not read, with the reasons. Their rows may be missing."""
        self._database = open_catalog(path)

    @classmethod
    def at_home(cls) -> Catalog:
        """Return the current user's catalog. It is in memory if its folder is not writable."""
        return cls(catalog_path())

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
    ) -> tool_session_refresh.ListedToolSessions:
        """Refresh the sessions of AI tools, and return those that belong to no conversation.

        The session with the latest activity comes first. `known` contains conversations that the
        caller has just listed. The sessions of these conversations are in the fields `bound` and
        `grown` of the result (see `ListedToolSessions`). A refresh reads changed transcripts. It
        stops reading after about `patience` seconds; None means no limit. The next call reads the
        remaining transcripts.
        """
        began = time.time_ns()
        folder_states = tool_session_refresh.scan_tool_folders()
        if not (self._database.is_there or any(state.print for state in folder_states.values())):
            return tool_session_refresh.ListedToolSessions([], changed=False, left=0, there=False)
        database = self._database
        listed = database.repeat(
            lambda: tool_session_refresh.refresh(database, folder_states, began, patience)
        )
        if not listed.rows:
            return listed
        bound_ids = {id for row in known for id in row.session_ids}
        known_sessions = [row for row in listed.rows if row.key in bound_ids] if bound_ids else []
        grown = (
            self._run(lambda db: session_links.not_captured(db, known_sessions))
            if known_sessions
            else ()
        )
        bound = self._run(session_links.bound_sessions)
        ids = {row.key for row in listed.rows} if bound else set[str]()
        for id, folder in bound:
            if id in ids and id not in bound_ids and os.path.isdir(folder):
                bound_ids.add(id)
        rows = (
            [row for row in listed.rows if row.key not in bound_ids] if bound_ids else listed.rows
        )
        rows.sort(key=recency, reverse=True)
        return listed._replace(rows=rows, grown=grown, bound=known_sessions)

    def session_counts(self) -> dict[tuple[str, str], message_and_token_counts.SessionCounts]:
        """Return the stored message and token counts of AI-tool sessions, by tool and session id.

        No messages are counted, and the catalog is not refreshed.
        """
        return self._run(message_and_token_counts.load_counts)

    def store_session_counts(
        self, counts: Iterable[tuple[ConversationRow, message_and_token_counts.SessionCounts]]
    ) -> None:
        """Store message and token counts. Each item is the row of a session and its counts."""
        new = builtins.list(counts)
        if new:
            self._run(lambda db: message_and_token_counts.store_counts(db, new))

    def known_usage(self) -> dict[tuple[str, str], usage_table.KnownSession]:
        """Return the sessions whose token usage is stored, by tool and session id.

        A `KnownSession` says how much of the session's files was read. This method refreshes
        nothing.
        """
        return self._run(usage_table.load_known)

    def change_usage(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Call `change` with the database, to change the stored token usage in one transaction."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            change(db)

        self._run(write)

    def usage_fact(self, name: str) -> str:
        """Return the fact `name` about the stored token usage; "" if it is not stored.

        A fact is a text with a name, such as the version of the model prices.
        """
        return self._run(lambda db: usage_table.load_fact(db, name))

    def usage_sums(self, since: int, until: int) -> builtins.list[usage_table.UsageSum]:
        """Return sums of the token usage that is stored for the time from `since` until `until`.

        Both times are in microseconds since 1970. This method refreshes nothing.
        """
        return self._run(lambda db: [*usage_table.load_sums(db, since, until)])

    def conversations_of_session(self, session_id: str) -> builtins.list[tuple[str, str]]:
        """Return the conversations to which the session `session_id` of an AI tool belongs.

        Each item has the workspace and the path of a conversation. The conversation with the latest
        activity comes first. This method refreshes nothing. It uses the links that the last refresh
        found, and the links that `add_link` added since.
        """
        return self._run(lambda db: session_links.load_links(db, session_id))

    def add_link(self, root: str, path: str, session_id: str) -> None:
        """Store that a session of an AI tool is now bound (linked) to a conversation.

        `root` is the conversation's workspace, and `path` is its path in the workspace.
        """
        self._run(lambda db: session_links.add_link(db, root, path, session_id))

    def known_workspaces(self) -> builtins.list[str]:
        """Return the root folders of the workspaces that have conversations in the catalog.

        This method refreshes nothing.
        """
        return self._run(lambda db: row_table.source_names(db, WORKSPACE))

    def known_rows(self, root: str) -> builtins.list[ConversationRow]:
        """Return the conversations of the workspace `root` as the last refresh found them.

        This method refreshes nothing.
        """
        rows = self._run(lambda db: row_table.load_rows(db, row_table.Source(WORKSPACE, root)))
        return [stored.row for stored in rows.values() if stored.row]

    def known_latest(
        self, folder: str, most: int, *, below: bool
    ) -> builtins.list[ConversationRow]:
        """Return the most recently active conversations and sessions in a folder, at most `most`.

        If `below` is true, up to `most` conversations and sessions in its subfolders follow. The
        result includes sessions that the user deleted, and sessions that belong to a conversation.
        The rows come from the last refresh: this method refreshes nothing.
        """
        return self._run(lambda db: row_table.load_latest(db, folder, most, below=below))

    def remember_captured(self, sessions: Iterable[ConversationRow]) -> None:
        """Record that all messages of these AI-tool sessions are now copied to conversations."""
        self._run(lambda db: session_links.store_captured(db, sessions))

    def log_sessions(
        self, folder: str, tool: str = AUR, *, lost: str = "interrupted"
    ) -> builtins.list[ConversationRow]:
        """Refresh a folder of logs, and return its sessions, the latest first.

        A log is a JSONL file with one session. `tool` is the value for the field `tool` of each
        row. A session is lost if its status is "interrupted", or if its status is "active" but no
        process has the session open. The row of a lost session gets the status `lost`. Raises
        SessionStorageError if the folder cannot be read.
        """
        return log_session_refresh.list_logs(self._database, folder, tool, lost)

    def document_sessions(
        self, shelves: Sequence[document_refresh.DocumentFolder], *, patience: float | None = None
    ) -> document_refresh.ListedDocuments:
        """Refresh the session documents in the folders `shelves`, and return their sessions.

        A session document is a JSON file that a program wrote. Reading stops after about `patience`
        seconds; None means no limit. The next call reads the remaining documents.
        """
        began, database = time.time_ns(), self._database
        return database.repeat(lambda: document_refresh.refresh(database, shelves, began, patience))

    def copies(self, known: Iterable[ConversationRow]) -> dict[tuple[str, int], int]:
        """Return the sessions of `aur spawn` and of programs that were imported as conversations.

        A key has the id of a session, as TOOL:ID, and the time when the session was created. Both
        are needed, because two programs may use the same id. The value is the time when the
        conversation made from this session was last active, or the latest such time if there are
        several conversations. Times are in microseconds since 1970.

        `known` contains conversations that the caller has just listed. Other conversations are
        found with the links in the catalog. This method refreshes nothing.
        """
        latest: dict[tuple[str, int], int] = {}
        for session, folder, at in self._run(session_links.copied_sessions):
            if at > latest.get(session, 0) and os.path.isdir(folder):
                latest[session] = at
        for row in known:
            for id in row.source_ids:
                session = id, row.created_at
                latest[session] = max(row.last_active, latest.get(session, 0))
        return latest

    def purge(self, shelves: Collection[str] | None = None) -> None:
        """Refresh the catalog, and remove the texts of deleted conversations from the catalog file.

        If `shelves` is given, it has the folders whose session documents stay in the catalog. The
        rows of documents in all other folders are deleted. Raises SessionStorageError if the
        catalog file can be neither cleaned nor deleted.
        """
        rows = self.list(self.known_workspaces())
        existing = {(os.fsencode(row.workspace), row.path) for row in rows}
        self._run(tool_session_refresh.forget_unmasked)
        self.tool_sessions()

        def write(db: sqlite3.Connection) -> None:
            announced = db.execute("SELECT root, path FROM told").fetchall()
            gone = [row for row in announced if tuple(row) not in existing]
            db.executemany("DELETE FROM told WHERE root = ? AND path = ?", gone)
            db.execute("DELETE FROM shown")
            document_refresh.forget_gone(db, shelves)
            log_session_refresh.forget_changed(db)

        self._run(write)
        try:
            self._database.purge()
        except DatabaseUnavailableError as error:
            raise SessionStorageError(f"could not remove the catalog: {error}") from error

    def remember_shown(self, terminal: str, rows: Iterable[ConversationRow]) -> None:
        """Store the rows that a list just showed in a terminal.

        The user of the terminal can then name a row by its number.
        """
        numbered = [
            (terminal, n, os.fsencode(root), path)
            for n, (root, path) in enumerate((row.identity for row in rows), 1)
        ]

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM shown WHERE terminal = ?", (terminal,))
            db.executemany("INSERT INTO shown VALUES (?,?,?,?)", numbered)

        self._run(write)

    def shown(self, terminal: str, number: int) -> tuple[str, str] | None:
        """Return the identity of a row in the terminal's last list, by its number.

        Return None if there is no such row. The identity is the pair `ConversationRow.identity`.
        """
        query = "SELECT root, path FROM shown WHERE terminal = ? AND number = ?"
        row = self._run(lambda db: db.execute(query, (terminal, number)).fetchone())
        return (os.fsdecode(row[0]), row[1]) if row else None

    def find_unannounced(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return those of the `rows` that cortext has not announced to the user yet.

        `rows` contains conversations that cortext paused because they were idle. cortext announces
        each of them once (see `tell_once`). After new activity, a conversation can be announced
        again.
        """
        return self._run(lambda db: _find_unannounced(db, rows))

    def tell_once(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return those of the `rows` that cortext has not announced to the user yet.

        The catalog records that cortext announces these rows now. `find_unannounced` returns the
        same rows, but records nothing.
        """

        def write(db: sqlite3.Connection) -> builtins.list[ConversationRow]:
            new = _find_unannounced(db, rows)
            db.executemany(
                "INSERT OR REPLACE INTO told VALUES (?,?,?)", map(_announcement_key, new)
            )
            return new

        return self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._database.repeat(lambda: self._database.run(work))


def _find_unannounced(
    db: sqlite3.Connection, rows: Iterable[ConversationRow]
) -> list[ConversationRow]:
    announced = {tuple(row) for row in db.execute("SELECT root, path, paused_at FROM told")}
    return [row for row in rows if _announcement_key(row) not in announced]


def _announcement_key(row: ConversationRow) -> tuple[bytes, str, int]:
    return os.fsencode(row.workspace), row.path, row.last_active
