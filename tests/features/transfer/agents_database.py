"""A database of openai-agents."""

import sqlite3
from contextlib import closing
from pathlib import Path

TABLES = """
CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE agent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    message_data TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
"""


def add(path: Path, name: str, *data: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        when = "2026-01-02 03:04:05"
        db.execute("INSERT OR IGNORE INTO agent_sessions VALUES (?, ?, ?)", (name, when, when))
        rows = [(name, text, when) for text in data]
        db.executemany(
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, ?)",
            rows,
        )
