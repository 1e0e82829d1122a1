"""Our side of the bench, and the floors beside it: one function for each piece of work."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bench.floors import RawAppender, SqliteAppender, raw_load, raw_tail
from bench.timing import in_turns
from cortext import (
    Session,
    SessionIndex,
    SessionManager,
    SessionMessage,
    SessionStorage,
    open_session_store,
)
from cortext.durability.read_files import CHUNK
from cortext.formats import document
from cortext.formats.document import EncodedRecords

TEXT = "x" * 500
_START = datetime(2026, 1, 1, tzinfo=UTC)


def session_of(count: int, id: str = "bench") -> Session:
    """A session with that many messages of 500 bytes."""
    messages = [
        SessionMessage("user" if n % 2 else "assistant", TEXT, _START + timedelta(seconds=n))
        for n in range(count)
    ]
    return Session(id, title="bench", messages=messages, created_at=_START)


def fresh_messages(count: int) -> Iterator[SessionMessage]:
    """Messages that are made before the clock starts, as the raw floor's line is."""
    return iter([SessionMessage("user", TEXT) for _ in range(count)])


def short_appends(folder: str, appends: int) -> dict[str, float]:
    """(a) seconds for one durable append: ours, the raw file, SQLite."""
    log = open_session_store(f"log:{folder}/log")
    workspace = open_session_store(f"workspace:{folder}/workspace")
    for store in (log, workspace):
        store.save(session_of(0))
    os.makedirs(f"{folder}/raw")
    raw = RawAppender(f"{folder}/raw/raw.jsonl")
    sqlite = SqliteAppender(f"{folder}/raw/raw.sqlite3")
    line = b"x" * 640 + b"\n"
    messages = fresh_messages(2 * appends)
    return in_turns(
        {
            "raw": lambda: raw.append(line),
            "log": lambda: log.append("bench", next(messages)),
            "folder": lambda: workspace.append("bench", next(messages)),
            "sqlite": lambda: sqlite.append(line),
        },
        rounds=10,
        batch=appends // 10,
    )


def long_appends(folder: str, appends: int) -> dict[str, float]:
    """(b) the same at 10,000 and at 100,000 messages, beside a short session."""
    stores = {
        "log": open_session_store(f"log:{folder}/log"),
        "folder": open_session_store(f"workspace:{folder}/workspace"),
    }
    for count in (10, 10_000, 100_000):
        for store in stores.values():
            store.save(session_of(count, f"of-{count}"))
    messages = fresh_messages(6 * appends)
    return in_turns(
        {
            f"{name} {count}": lambda s=store, id=f"of-{count}": s.append(id, next(messages))
            for name, store in stores.items()
            for count in (10, 10_000, 100_000)
        },
        rounds=10,
        batch=appends // 10,
    )


def reads(folder: str) -> dict[str, float]:
    """(c) and (d): the last 20 of 10,000, and all of them, beside the raw reads."""
    log = open_session_store(f"log:{folder}/log")
    workspace = open_session_store(f"workspace:{folder}/workspace")
    documents = open_session_store(f"document:{folder}/documents")
    session = session_of(10_000)
    for store in (log, workspace, documents):
        store.save(session)
    raw = f"{folder}/workspace/conversations/2026-01-01/bench/.session/messages.jsonl"
    tails = in_turns(
        {
            "raw tail": lambda: raw_tail(raw, 20, CHUNK),
            "log tail": lambda: log.tail("bench", 20),
            "folder tail": lambda: workspace.tail("bench", 20),
        },
        200,
    )
    loads = in_turns(
        {
            "raw load": lambda: raw_load(raw),
            "log load": lambda: log.load("bench"),
            "folder load": lambda: workspace.load("bench"),
            "document load": lambda: documents.load("bench"),
        },
        7,
    )
    return {**tails, **loads}


def make_sessions(folder: str, count: int) -> None:
    """(e) that many session documents, written without syncing: only reading is timed."""
    SessionStorage(folder)
    for number in range(count):
        session = Session(f"s-{number:06}", title=f"session {number}", model="m", tags=["bench"])
        session.created_at = session.updated_at = _START + timedelta(seconds=number)
        session.messages.append(SessionMessage("user", "hello", session.created_at))
        chunks = document.encode(
            session, EncodedRecords().extended(session.messages), EncodedRecords()
        )
        with open(f"{folder}/{session.id}.json", "wb") as file:
            file.writelines(chunks)
    SessionIndex(SessionStorage(folder)).close()
    settle(folder)


def create_and_close(folder: str) -> None:
    """Another program has a conversation, as any does."""
    manager = SessionManager(SessionStorage(folder), auto_save_interval=0)
    manager.create(title="new")
    manager.close()


def settle(folder: str) -> None:
    """Open once more when the folder's time is no longer fresh, as any later use would."""
    while time.time_ns() - os.stat(folder).st_mtime_ns < 50_000_000:
        time.sleep(0.01)
    SessionIndex(SessionStorage(folder)).close()


def list_newest(folder: str) -> None:
    """(e) open the index and take the default list."""
    index = SessionIndex(SessionStorage(folder))
    found = index.list()
    index.close()
    if len(found) != 50:
        raise AssertionError(f"the list has {len(found)} sessions, not 50")
