"""Sessions of openai-agents in SQLite, brought over by `cortext import`."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionStorageError
from cortext.features.transfer.import_sqlite import is_database, put_items, read_database
from cortext.formats.openai_items import items_of
from cortext.stores.log import LogStore
from tests.command import cortext
from tests.features.transfer.agents_database import TABLES, add

ITEMS: list[Any] = [
    {"content": "Where is my parcel?", "role": "user"},
    {"arguments": '{"id": 7}', "call_id": "c1", "name": "track", "type": "function_call"},
    {"call_id": "c1", "output": "in Bergen", "type": "function_call_output"},
    {"id": "m1", "content": [{"text": "In Bergen.", "type": "output_text", "annotations": []}],
     "role": "assistant", "status": "completed", "type": "message"},
]  # fmt: skip


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(TABLES)
    add(path, "user:7/chat", *map(json.dumps, ITEMS))
    add(path, "plain", json.dumps(ITEMS[0]), "{no JSON", "[1]", json.dumps({"odd": "\ud800"}))
    return path


def test_import_keeps_items_unchanged_and_warns_of_invalid_rows(database: Path) -> None:
    """With their times, in order, and a title; what is no item is named and left out."""
    plain, chat = read_database(str(database))
    items = [item for message in chat.session.messages for item in items_of(message)]
    assert list(map(json.dumps, items)) == list(map(json.dumps, ITEMS))
    assert chat.session.title == "Where is my parcel?"
    assert chat.session.created_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert chat.session.messages[0].timestamp.year == 2026
    assert chat.session.metadata == {"framework": "openai_agents", "session_id": "user:7/chat"}
    assert [message.role for message in chat.session.messages] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert chat.warnings == []
    assert plain.session.id == "plain"
    assert len(plain.session.messages) == 2
    assert ["row 6" in plain.warnings[0], "row 7" in plain.warnings[1]] == [True, True]


def test_second_import_takes_only_new_items(database: Path, data_home: Path) -> None:
    """They go where programs keep theirs; a second import takes only what was added."""
    first = cortext(Path.home(), "import", str(database))
    assert sorted(first.stdout.split()) == ["imported:", "imported:", "plain", chat_id(database)]
    assert "row 6 was not imported" in first.stderr
    store = LogStore(data_home / "cortext" / "programs")
    before = store.load(chat_id(database))
    assert before.message_count == 4
    again = cortext(Path.home(), "import", str(database))
    assert again.stdout.count("already here:") == 2
    add(database, "plain", json.dumps({"content": "and now?", "role": "user"}))
    grown = cortext(Path.home(), "import", str(database), "--json")
    assert {row["id"]: row["new"] for row in json.loads(grown.stdout)} == {
        "plain": True, chat_id(database): False,
    }  # fmt: skip
    assert store.load("plain").messages[-1].content == "and now?"
    assert store.load(chat_id(database)) == before


def chat_id(database: Path) -> str:
    return read_database(str(database))[1].session.id


def test_import_respects_as_and_store_options(database: Path, tmp_path: Path) -> None:
    """One session may get another id, several may not; any store takes them."""
    refused = cortext(Path.home(), "import", str(database), "--as", "x")
    assert refused.returncode == 2
    assert "has 2" in refused.stderr
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM agent_sessions WHERE session_id = 'plain'")
    where = f"log:{tmp_path}/kept"
    done = cortext(Path.home(), "import", str(database), "--as", "x", "--store", where)
    assert done.stdout == "imported: x\n"
    assert LogStore(tmp_path / "kept").load("x").message_count == 4


def test_import_does_not_replace_other_conversation_with_same_id(
    database: Path, tmp_path: Path
) -> None:
    """The error is one sentence with a way out, and nothing is changed."""
    store = LogStore(tmp_path / "kept")
    plain, chat = read_database(str(database))
    assert put_items(plain.session, store)
    chat.session.id = "plain"
    with pytest.raises(SessionStorageError, match="a different conversation"):
        put_items(chat.session, store)
    assert store.load("plain") == plain.session


def test_import_rejects_foreign_damaged_and_missing_database(tmp_path: Path) -> None:
    """It is said what is read; a damaged one is named too."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE t (x)")
    assert is_database(str(path))
    os.mkfifo(tmp_path / "pipe.db")
    assert not is_database(str(tmp_path / "pipe.db"))
    other = cortext(Path.home(), "import", str(path))
    assert other.returncode == 1
    assert "without sessions of openai-agents" in other.stderr
    assert "hint:" in other.stderr
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    damaged = cortext(Path.home(), "import", str(path))
    assert damaged.returncode == 1
    assert "cannot be read" in damaged.stderr
    assert "Traceback" not in damaged.stderr
    missing = cortext(Path.home(), "import", str(tmp_path / "none.db"))
    assert missing.returncode != 0
    assert "none.db" in missing.stderr


def test_import_takes_main_branch_and_names_skipped_branches(database: Path) -> None:
    """A session with branches says which were left out."""
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE message_structure (session_id, message_id, branch_id)")
        rows = [("user:7/chat", 1, "main"), ("user:7/chat", 1, "b"), ("user:7/chat", 2, "b")]
        db.executemany("INSERT INTO message_structure VALUES (?, ?, ?)", rows)
    chat = read_database(str(database))[1]
    assert chat.session.message_count == 3
    assert [warning.rpartition(": ")[2] for warning in chat.warnings] == [
        "the branch b was not imported"
    ]


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i FROM n",
        "SELECT zeroblob(900000000), 1, 1",
    ],
    ids=["endless", "large"],
)
def test_import_rejects_views_in_place_of_tables(tmp_path: Path, query: str) -> None:
    path = tmp_path / "hostile.db"
    with closing(sqlite3.connect(path)) as db:
        columns = "(session_id, created_at, updated_at)"
        db.execute(f"CREATE VIEW agent_sessions {columns} AS {query}")
        db.execute(f"CREATE VIEW agent_messages {columns} AS {query}")
    with pytest.raises(SessionStorageError, match="without sessions of openai-agents or llm"):
        read_database(str(path))


def test_import_rejects_pipe_in_place_of_database(tmp_path: Path) -> None:
    path = tmp_path / "pipe.db"
    os.mkfifo(path)
    with pytest.raises(SessionStorageError, match="not a regular file"):
        read_database(str(path))
