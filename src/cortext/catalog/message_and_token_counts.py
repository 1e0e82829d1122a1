"""The catalog table with the numbers of messages and tokens of AI-tool sessions.

A refresh reads only the beginning and the end of a transcript, so the messages are counted
separately. A count is valid as long as the transcript has the same fingerprint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from cortext.catalog.rebuildable_database import bounded
from cortext.catalog.row import ConversationRow

SCHEMA = """
CREATE TABLE counts (tool TEXT, id TEXT, fingerprint TEXT, messages INTEGER, tokens INTEGER,
    PRIMARY KEY (tool, id)) WITHOUT ROWID
"""


class SessionCounts(msgspec.Struct, frozen=True, gc=False):
    """The numbers of messages and tokens of a session.

    `fingerprint` is the fingerprint that the transcript had when its messages were counted.
    """

    fingerprint: str
    messages: int
    tokens: int


def load_counts(db: sqlite3.Connection) -> dict[tuple[str, str], SessionCounts]:
    """Return the stored counts of all sessions, by tool and session id."""
    found = db.execute("SELECT tool, id, fingerprint, messages, tokens FROM counts").fetchall()
    return {(tool, id): SessionCounts(*counts) for tool, id, *counts in found}


def store_counts(
    db: sqlite3.Connection, counts: Iterable[tuple[ConversationRow, SessionCounts]]
) -> None:
    """Store counts. Each item is the row of a session and its counts."""
    db.executemany(
        "INSERT OR REPLACE INTO counts VALUES (?,?,?,?,?)",
        [
            (row.tool, row.key, each.fingerprint, bounded(each.messages), bounded(each.tokens))
            for row, each in counts
        ],
    )


def forget_counts(db: sqlite3.Connection, tool: str, ids: Iterable[str]) -> None:
    """Delete the counts of a tool's sessions that do not exist any more."""
    db.executemany("DELETE FROM counts WHERE tool = ? AND id = ?", [(tool, id) for id in ids])
