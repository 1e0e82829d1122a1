"""The catalog's links from conversations to sessions: bindings and imports.

A conversation is bound to the tool sessions whose messages belong to it. It may also be an import
of a session. With the links, lists show such a session only once, and a hook finds the conversation
of its tool session without a refresh.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from cortext import clock
from cortext.catalog.database import micros, plain
from cortext.catalog.row import ConversationRow

SCHEMA = """
CREATE TABLE links (workspace BLOB, path BLOB, relation TEXT, id TEXT, last_active INTEGER);
CREATE INDEX links_of ON links (workspace, path);
CREATE INDEX links_to ON links (id);
CREATE TABLE captured (id TEXT PRIMARY KEY, fingerprint TEXT) WITHOUT ROWID
"""
_BINDING, _COPY = "binding", "copy"
"""The two kinds of link: to a bound tool session, and to the session that was imported."""


def store_links(
    db: sqlite3.Connection, root: str, rows: Mapping[str, ConversationRow | None]
) -> None:
    """Replace the stored links of conversations of the workspace `root`, given by path.

    A row of None means that the conversation was deleted.
    """
    key = os.fsencode(root)
    for path, row in rows.items():
        where = (key, os.fsencode(path))
        db.execute("DELETE FROM links WHERE workspace = ? AND path = ?", where)
        if row is None:
            continue
        found = [(_BINDING, id) for id in row.session_ids]
        found += [(_COPY, id) for id in row.source_ids]
        db.executemany(
            "INSERT INTO links VALUES (?,?,?,?,?)",
            [(*where, relation, id, row.last_active) for relation, id in found],
        )


def add_link(db: sqlite3.Connection, root: str, path: str, session_id: str) -> None:
    """Store a new binding of the conversation at `path` to a tool session.

    The next refresh of the conversation replaces this link.
    """
    link = (os.fsencode(root), os.fsencode(path), _BINDING, plain(session_id), micros(clock.now()))
    db.execute("INSERT INTO links VALUES (?,?,?,?,?)", link)


def load_links(db: sqlite3.Connection, session_id: str) -> list[tuple[str, str]]:
    """Return workspace and path of each conversation bound to a tool session, the latest first."""
    query = """SELECT workspace, path FROM links WHERE id = ? AND relation = ?
        GROUP BY workspace, path ORDER BY max(last_active) DESC"""
    found = db.execute(query, (plain(session_id), _BINDING)).fetchall()
    return [(os.fsdecode(root), os.fsdecode(path)) for root, path in found]


def bound_sessions(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the id of each tool session that is bound, with the folder of its conversation."""
    query = "SELECT id, workspace, path FROM links WHERE relation = ?"
    rows = db.execute(query, (_BINDING,))
    return [(id, f"{os.fsdecode(root)}/{os.fsdecode(path)}") for id, root, path in rows]


def copied_sessions(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return the standalone sessions that were imported as conversations.

    Each item has the session as TOOL:ID, the folder of the conversation, and the time of the
    conversation's last activity.
    """
    query = "SELECT id, workspace, path, last_active FROM links WHERE relation = ?"
    rows = db.execute(query, (_COPY,))
    return [(id, f"{os.fsdecode(root)}/{os.fsdecode(path)}", at) for id, root, path, at in rows]


def not_captured(
    db: sqlite3.Connection, sessions: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Return the tool sessions whose transcript changed since their messages were last captured."""
    known = dict(db.execute("SELECT id, fingerprint FROM captured").fetchall())
    return [row for row in sessions if known.get(row.key) != row.fingerprint]


def store_captured(db: sqlite3.Connection, sessions: Iterable[ConversationRow]) -> None:
    """Record that the conversations have all messages of these tool sessions."""
    entries = [(row.key, row.fingerprint) for row in sessions]
    db.executemany("INSERT OR REPLACE INTO captured VALUES (?,?)", entries)
