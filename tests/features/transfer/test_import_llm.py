"""Logs of former releases of llm, brought over by `cortext import`."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cortext.features.transfer.import_sqlite import put_items, read_database
from cortext.formats.llm_package_messages import items_of
from cortext.stores.log import LogStore
from tests.command import cortext

TABLES = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
    prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,
    conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT);
"""
LATER = """
ALTER TABLE responses ADD COLUMN output_tokens INTEGER;
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
    output TEXT, tool_call_id TEXT);
"""


def answer(db: sqlite3.Connection, id: str, prompt: str, response: str, system: str | None) -> None:
    db.execute(
        "INSERT INTO responses (id, model, prompt, system, response, conversation_id, datetime_utc)"
        " VALUES (?, 'gpt-4', ?, ?, ?, 'c1', '2024-05-06T07:08:09.123456')",
        (id, prompt, system, response),
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(TABLES)
        db.execute("INSERT INTO conversations VALUES ('c1', 'Where is', 'gpt-4')")
        answer(db, "r1", "Where is my parcel?", "In Bergen.", "be brief")
        answer(db, "r2", "And now?", "Still there.", "be brief")
    return path


def test_import_reads_llm_responses_of_first_release(database: Path, data_home: Path) -> None:
    """Prompts and answers with their times; the prompt of the system stands once."""
    done = cortext(Path.home(), "import", str(database))
    assert done.stdout == "imported: c1\n"
    session = LogStore(data_home / "cortext" / "programs").load("c1")
    assert [(message.role, message.content) for message in session.messages] == [
        ("system", "be brief"),
        ("user", "Where is my parcel?"), ("assistant", "In Bergen."),
        ("user", "And now?"), ("assistant", "Still there."),
    ]  # fmt: skip
    assert (session.title, session.model) == ("Where is my parcel?", "gpt-4")
    assert session.created_at.isoformat() == "2024-05-06T07:08:09.123456+00:00"
    assert session.metadata == {"framework": "llm", "session_id": "c1"}
    assert cortext(Path.home(), "import", str(database)).stdout == "already here: c1\n"


def test_import_reads_llm_attachments_fragments_and_tool_calls(
    database: Path, tmp_path: Path
) -> None:
    """What later releases logged beside it, and a row that is damaged is named and left out."""
    with closing(sqlite3.connect(database)) as db, db:
        db.executescript(LATER)
        db.execute("INSERT INTO attachments VALUES ('a', 'image/png', NULL, NULL, X'8950')")
        db.execute("INSERT INTO prompt_attachments VALUES ('r1', 'a', 0)")
        db.execute("INSERT INTO fragments VALUES (1, 'h', 'a long story')")
        db.execute("INSERT INTO prompt_fragments VALUES ('r1', 1, 0)")
        call = "INSERT INTO tool_calls VALUES (NULL, ?, 1, 'track', ?, 't1')"
        db.execute(call, ("r1", '{"id": 7}'))
        db.execute("INSERT INTO tool_results VALUES (NULL, 'r2', 1, 'track', 'Bergen', 't1')")
        answer(db, "r3", "and this", "x", None)
        db.execute(call, ("r3", "{no JSON"))
    (read,) = read_database(str(database))
    assert put_items(read.session, LogStore(tmp_path / "kept"))
    items = items_of(LogStore(tmp_path / "kept").load("c1").messages)
    assert items[1]["parts"] == [
        {"type": "text", "text": "a long story\nWhere is my parcel?"},
        {"type": "attachment", "attachment": {"type": "image/png", "content": "iVA="}},
    ]
    assert items[2]["parts"][1] == {
        "type": "tool_call", "name": "track", "arguments": {"id": 7}, "tool_call_id": "t1",
    }  # fmt: skip
    assert items[3] == {"role": "tool", "parts": [
        {"type": "tool_result", "name": "track", "output": "Bergen", "tool_call_id": "t1"}
    ]}  # fmt: skip
    assert len(items) == 6
    (warning,) = read.warnings
    assert "response r3 was not imported" in warning
