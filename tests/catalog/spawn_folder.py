"""A folder of sessions of `aur spawn`, as any program may have written them."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from cortext.catalog import log_row_reader
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow

WHEN = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = 3600 * 10**9


def turn(text: str, role: str = "user", at: datetime = WHEN, **more: Any) -> bytes:
    data = {"type": "turn", "role": role, "content": text, "timestamp": at.isoformat(), **more}
    return json.dumps(data).encode() + b"\n"


def head(id: str, **fields: Any) -> bytes:
    data = {"session_id": id, "agent": "qa-test", "created_at": WHEN.isoformat(), **fields}
    return json.dumps({"type": "metadata", "status": "completed", **data}).encode() + b"\n"


class Folder:
    """A folder of sessions, and what anybody may do to them. What is written is an hour old, as
    most of what a list finds is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._clock = time.time_ns() - 1000 * HOUR

    def add(self, id: str, *turns: bytes, **fields: Any) -> Path:
        path = self.path / f"{id}.jsonl"
        self.write(path, head(id, **fields) + b"".join(turns))
        return path

    def write(self, path: Path, data: bytes) -> None:
        """In place, as an editor does."""
        path.write_bytes(data)
        self.age(path)

    def append(self, path: Path, data: bytes) -> None:
        with open(path, "ab") as file:
            file.write(data)
        self.age(path)

    def replace(self, path: Path, data: bytes) -> None:
        fresh = path.with_name("fresh")
        fresh.write_bytes(data)
        os.rename(fresh, path)
        self.age(path)

    def age(self, path: Path) -> None:
        """The clock goes on with every change; the folder rests too."""
        self._clock += HOUR
        os.utime(path, ns=(self._clock, self._clock))
        os.utime(self.path, ns=(self._clock, self._clock))

    def list(self) -> dict[str, ConversationRow]:
        with self.catalog() as catalog:
            return {row.key: row for row in catalog.log_sessions(str(self.path))}

    @property
    def database(self) -> Path:
        return self.path.parent / "catalog.sqlite3"

    def catalog(self) -> Catalog:
        return Catalog(str(self.database))

    def anew(self) -> dict[str, ConversationRow]:
        """What somebody finds who knows nothing yet."""
        found: dict[str, ConversationRow] = {}
        for path in self.path.glob("*.jsonl"):
            read = log_row_reader.read_log(str(self.path), path.stem)
            assert read is not None
            status = "interrupted" if read.row.status == "active" else read.row.status
            found[path.stem] = replace(read.row, status=status)
        return found
