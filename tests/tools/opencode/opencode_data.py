"""What OpenCode writes: its recorded databases, and databases and files as a test needs them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import DecodedTranscript, TranscriptSource

GOLDEN = Path(__file__).parents[1] / "golden" / "opencode"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
START = 1_767_323_045_000  # 2026-01-02 03:04:05 UTC, in milliseconds
SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT,
  directory TEXT, title TEXT, version TEXT, revert TEXT, time_created INTEGER,
  time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
"""
"""The tables of the first release with a database: later ones added columns."""


class Made:
    """A database as a test needs it."""

    def __init__(self, home: Path, name: str = "opencode.db") -> None:
        self.home, self.path = home, home / name
        self._at = START
        home.mkdir(exist_ok=True)
        with self.open() as db:
            db.executescript("PRAGMA journal_mode=WAL;" + SCHEMA)

    def open(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.path, isolation_level=None))

    def session(self, id: str = "ses_1", **fields: Any) -> None:
        row = {"title": "A title", "directory": "/home/you/project", "version": "1.2.0", **fields}
        times = {"time_created": START, "time_updated": START}
        self._insert("session", {"id": id, **times, **row})

    def message(self, id: str, role: str, *parts: Any, session: str = "ses_1", **info: Any) -> None:
        self._at += 1000
        known = {"role": role, "time": {"created": self._at}, "modelID": "stub-1", **info}
        row = {"id": id, "session_id": session, "time_created": self._at, "time_updated": self._at}
        self._insert("message", {**row, "data": json.dumps(known)})
        for number, part in enumerate(parts):
            data = part if isinstance(part, (str, bytes)) else json.dumps(part)
            own = {**row, "id": f"prt_{id}_{number}", "message_id": id, "data": data}
            self._insert("part", own)

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        with self.open() as db:
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))

    def source(self, id: str = "ses_1") -> TranscriptSource:
        return TranscriptSource("opencode", id, str(self.path), 0, "x", "/home/you/project")

    def decode(self, id: str = "ses_1") -> DecodedTranscript:
        return OpenCodeBridge(str(self.home)).decode(self.source(id))


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(name: str, given: Any, output: str | None, id: str = "c", **state: Any) -> dict[str, Any]:
    done = {} if output is None else {"status": "completed", "output": output}
    return {"type": "tool", "tool": name, "callID": id, "state": {"input": given, **done, **state}}


def said(decoded: DecodedTranscript) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in decoded.session.messages]


def recorded(version: str, home: Path) -> OpenCodeBridge:
    home.mkdir(exist_ok=True)
    with closing(sqlite3.connect(home / "opencode.db")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript((GOLDEN / version / "opencode.sql").read_text("utf-8"))
    return OpenCodeBridge(str(home))


def as_files(database: Path, storage: Path, *, first: bool = False) -> None:
    """The rows of a database as the tree of files that came before it."""
    base = storage / "session" if first else storage
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        for row in db.execute("SELECT * FROM session"):
            times = {"created": row["time_created"], "updated": row["time_updated"]}
            head = {"id": row["id"], "title": row["title"], "directory": row["directory"]}
            head |= {"parentID": row["parent_id"], "version": row["version"], "time": times}
            folder = base / "info" if first else base / "session" / "global"
            write(folder / f"{row['id']}.json", json.dumps(head, indent=2))
        for row in db.execute("SELECT * FROM message"):
            write(base / "message" / row["session_id"] / f"{row['id']}.json", row["data"])
        for row in db.execute("SELECT * FROM part"):
            between = (row["session_id"], row["message_id"]) if first else (row["message_id"],)
            write(base.joinpath("part", *between, f"{row['id']}.json"), row["data"])
    database.unlink()


def write(path: Path, data: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data, "utf-8")
