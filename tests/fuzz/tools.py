"""The decoders of what AI tools keep, and of our copies of it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cortext.model import json_codec
from cortext.tools.claude.reader import ClaudeBridge
from cortext.tools.codex.reader import CodexBridge
from cortext.tools.gemini.reader import GeminiBridge
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import Bridge, DecodedTranscript, TranscriptSource
from tests.fuzz.target import Feed, Files, Target, attempt
from tests.tools.opencode.opencode_data import SCHEMA, START

ID = "11111111-1111-4111-8111-111111111111"


def _look(bridge: Bridge, path: Path) -> None:
    """All that is done with a transcript: it is found, glanced at, and decoded."""
    sources = list(bridge.sources())
    # One that is passed over is looked at all the same.
    for source in sources[:3] or [
        TranscriptSource(bridge.tool, ID, str(path), path.stat().st_size, "x")
    ]:
        try:
            attempt(
                lambda source=source: bridge.glance(source),
                lambda source=source: _whole(bridge.decode(source)),
                lambda source=source: _whole(bridge.decode(source, longest=100)),
            )
        except FileNotFoundError:
            assert path.suffix == ".db", "the file is there"  # the row may be gone


def _whole(decoded: DecodedTranscript) -> None:
    """What was decoded is a session that can be kept."""
    for session in (decoded.session, *decoded.side):
        json_codec.encode(session.to_dict())
    for damage in decoded.damages:
        assert damage.detail


def _transcript(make: Callable[[str], Bridge], *names: str) -> Callable[[Path], Iterator[Feed]]:
    """A file in a tool's folder. Of several names one is taken, by how the input begins."""

    def open(folder: Path) -> Iterator[Feed]:
        paths = [folder / name for name in names]
        bridge = make(str(folder))

        def feed(data: bytes) -> None:
            for path in paths:
                path.unlink(missing_ok=True)
            # A document is indented; a log has a value a line.
            path = paths[-1] if data.lstrip()[:2] == b"{\n" else paths[0]
            with Files(path).holding(data):
                _look(bridge, path)

        yield feed

    return open


def _database(folder: Path) -> Iterator[Feed]:
    """The bytes of OpenCode's database."""
    bridge, path = OpenCodeBridge(str(folder)), folder / "opencode.db"

    def feed(data: bytes) -> None:
        for side in folder.glob("opencode.db-*"):
            side.unlink()
        with Files(path).holding(data):
            _look(bridge, path)

    yield feed


def _rows(folder: Path) -> Iterator[Feed]:
    """What stands in the rows of OpenCode's database: a session, then a message and a part each."""
    bridge, path = OpenCodeBridge(str(folder)), folder / "opencode.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript("PRAGMA synchronous=OFF;" + SCHEMA)

        def feed(data: bytes) -> None:
            db.executescript("DELETE FROM session; DELETE FROM message; DELETE FROM part; BEGIN")
            head, *rows = data.split(b"\n")
            _insert(db, "session", id="s", title=_odd(head), revert=_odd(head), directory="/x",
                    version="1", time_created=START, time_updated=_odd(head[:12]))  # fmt: skip
            for number, row in enumerate(rows[:100]):
                table = "part" if b'"type"' in row[:200] else "message"
                more: dict[str, Any] = {"message_id": f"m{number - 1}"} if table == "part" else {}
                _insert(db, table, id=f"m{number}", session_id="s", data=_odd(row),
                        time_created=START + number, time_updated=START, **more)  # fmt: skip
            db.execute("COMMIT")
            _look(bridge, path)

        yield feed


def _odd(data: bytes) -> str | bytes:
    """A column of text holds any bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _insert(db: sqlite3.Connection, table: str, **row: Any) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


TARGETS = (
    Target("claude", _transcript(ClaudeBridge, f"projects/-home-you-p/{ID}.jsonl")),
    Target("codex", _transcript(
        CodexBridge, f"sessions/2026/01/01/rollout-2026-01-01T00-00-00-{ID}.jsonl")),
    Target("gemini", _transcript(
        GeminiBridge, "tmp/p/chats/session-2026-01-01T00-00-11111111.jsonl",
        "tmp/p/chats/session-2026-01-01T00-00-11111111.json")),
    Target("opencode", _database),
    Target("opencode-rows", _rows),
    Target("packed", _transcript(
        ClaudeBridge, f"projects/-home-you-p/{ID}.jsonl.gz"), most=3 << 20),
)  # fmt: skip
