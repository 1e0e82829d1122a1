"""The links in the catalog from conversations to sessions.

A *binding* links a conversation to a session of an AI tool whose messages belong to it. A *copy*
links a conversation to the session from which it was imported. With these links, a list shows a
conversation and its session only once. Also, a hook in an AI tool can find the conversation of the
tool's session without a refresh.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from cortext import clock
from cortext.catalog.rebuildable_database import micros, plain
from cortext.catalog.row import ConversationRow

SCHEMA = """
CREATE TABLE links (
    workspace BLOB, path BLOB, relation TEXT, id TEXT, created_at INTEGER, last_active INTEGER
);
CREATE INDEX links_of ON links (workspace, path);
CREATE INDEX links_to ON links (id);
CREATE TABLE captured (id TEXT PRIMARY KEY, fingerprint TEXT) WITHOUT ROWID
"""
_BINDING, _COPY = "binding", "copy"
"""The two kinds of link: to a bound tool session, and to the session that was imported."""


def store_links(
    db: sqlite3.Connection, root: str, rows: Mapping[str, ConversationRow | None]
) -> None:
    """Replace the stored links of some conversations of the workspace `root`.

    `rows` has the row of each conversation by its path, or None for a deleted conversation.
    """
    key = os.fsencode(root)
    for path, row in rows.items():
        where = (key, os.fsencode(path))
        db.execute("DELETE FROM links WHERE workspace = ? AND path = ?", where)
        if row is None:
            continue
        links = [(_BINDING, id) for id in row.session_ids]
        links += [(_COPY, id) for id in row.source_ids]
        db.executemany(
            "INSERT INTO links VALUES (?,?,?,?,?,?)",
            [(*where, relation, id, row.created_at, row.last_active) for relation, id in links],
        )


def add_link(db: sqlite3.Connection, root: str, path: str, session_id: str) -> None:
    """Store that a session of an AI tool is now bound (linked) to a conversation.

    `root` is the conversation's workspace, and `path` is its path in the workspace. The next
    refresh of the conversation replaces this link.
    """
    now = micros(clock.now())
    link = (os.fsencode(root), os.fsencode(path), _BINDING, plain(session_id), now, now)
    db.execute("INSERT INTO links VALUES (?,?,?,?,?,?)", link)


def load_links(db: sqlite3.Connection, session_id: str) -> list[tuple[str, str]]:
    """Return the conversations to which the session `session_id` of an AI tool belongs.

    Each item has the workspace and the path of a conversation. The conversation with the latest
    activity comes first.
    """
    query = """SELECT workspace, path FROM links WHERE id = ? AND relation = ?
        GROUP BY workspace, path ORDER BY max(last_active) DESC"""
    rows = db.execute(query, (plain(session_id), _BINDING)).fetchall()
    return [(os.fsdecode(root), os.fsdecode(path)) for root, path in rows]


def bound_sessions(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return every AI-tool session that belongs to a conversation.

    Each item has the id of the session and the path of the conversation's folder.
    """
    query = "SELECT id, workspace, path FROM links WHERE relation = ?"
    rows = db.execute(query, (_BINDING,))
    return [(id, f"{os.fsdecode(root)}/{os.fsdecode(path)}") for id, root, path in rows]


def copied_sessions(db: sqlite3.Connection) -> list[tuple[tuple[str, int], str, int]]:
    """Return the sessions that were imported as conversations.

    The sessions come from `aur spawn` or from programs. Each item has three values: the session
    (its TOOL:ID and its creation time), the path of the conversation's folder, and the time when
    the conversation was last active.
    """
    query = "SELECT id, created_at, workspace, path, last_active FROM links WHERE relation = ?"
    return [
        ((id, created_at), f"{os.fsdecode(root)}/{os.fsdecode(path)}", last_active)
        for id, created_at, root, path, last_active in db.execute(query, (_COPY,))
    ]


def not_captured(
    db: sqlite3.Connection, sessions: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Return the AI-tool sessions whose messages may not all be copied to a conversation yet.

    Such a session was never passed to `store_captured`, or its transcript changed since then.
    """
    known = dict(db.execute("SELECT id, fingerprint FROM captured").fetchall())
    return [row for row in sessions if known.get(row.key) != row.fingerprint]


def store_captured(db: sqlite3.Connection, sessions: Iterable[ConversationRow]) -> None:
    """Record that all messages of these AI-tool sessions are now copied to conversations.

    The record of a session is valid until its transcript changes.
    """
    entries = [(row.key, row.fingerprint) for row in sessions]
    db.executemany("INSERT OR REPLACE INTO captured VALUES (?,?)", entries)
