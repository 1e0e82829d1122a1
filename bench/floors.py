"""The raw floors: what the same work costs with nothing around it."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import datetime
from statistics import median
from typing import Literal

import msgspec


class RawAppender:
    """O_APPEND + fdatasync."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def append(self, line: bytes) -> None:
        os.write(self._fd, line)
        os.fdatasync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def floor(folder: str, rounds: int = 200) -> float:
    """Median seconds of a raw append: the noise of a machine is how far these are apart through a
    run."""
    os.makedirs(folder, exist_ok=True)
    raw = RawAppender(f"{folder}/raw.jsonl")
    line, spent = b"x" * 640 + b"\n", list[float]()
    for _ in range(rounds):
        start = time.perf_counter()
        raw.append(line)
        spent.append(time.perf_counter() - start)
    raw.close()
    return median(spent)


class SqliteAppender:
    """One row a commit: WAL, synchronous FULL."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, line BLOB)")

    def append(self, line: bytes) -> None:
        self._db.execute("INSERT INTO messages (line) VALUES (?)", (line,))


class PlainMessage(msgspec.Struct):
    """What a typed decode has to make of a line at the least."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    timestamp: datetime
    id: str


_decoder = msgspec.json.Decoder(PlainMessage)


def raw_tail(path: str, count: int, chunk: int) -> list[bytes]:
    """The last lines, by reading one chunk and splitting it."""
    with open(path, "rb") as file:
        file.seek(-chunk, os.SEEK_END)
        return file.read().split(b"\n")[-count - 1 : -1]


def raw_load(path: str) -> list[PlainMessage]:
    """Read the file, decode every line into a type."""
    with open(path, "rb") as file:
        return _decoder.decode_lines(file.read())
