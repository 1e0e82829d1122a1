"""A workspace that anybody may change, and what its list has to be."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow

NOW = datetime.now(UTC)
HOUR = 3600 * 10**9


class Space:
    """A workspace, and what anybody may do to its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".workspace").mkdir(parents=True, exist_ok=True)
        self.clock = 0

    def add(self, name: str, *texts: str, day: str = "2026-01-05", **head: Any) -> Path:
        folder = self.root / "conversations" / day / name
        (folder / ".session").mkdir(parents=True)
        (folder / "plan.md").write_text(f"# {name}\n", encoding="utf-8")
        (folder / ".session/messages.jsonl").write_bytes(b"")
        self.head(folder, **{"title": name, **head})
        self.append(folder, *texts)
        return folder

    def head(self, folder: Path, **fields: Any) -> None:
        """Written in place, as an editor does."""
        path = folder / ".session/session.json"
        old = json.loads(path.read_bytes()) if path.exists() else HEAD
        path.write_text(json.dumps({**old, **fields}), encoding="utf-8")

    def append(self, folder: Path, *texts: str, at: datetime | None = None) -> None:
        with open(folder / ".session/messages.jsonl", "ab") as file:
            for text in texts:
                self.clock += 1
                when = at or NOW + timedelta(seconds=self.clock)
                record = {"role": "user", "content": text, "timestamp": when.isoformat()}
                file.write(json.dumps({"id": f"m{self.clock}", **record}).encode() + b"\n")

    def age(self) -> None:
        """Let everything be an hour older, so that the catalog trusts what it knows of it."""
        for number, path in enumerate(sorted(self.root.rglob("*"))):
            if path.is_file() or path.is_dir():
                past = os.stat(path).st_mtime_ns - HOUR + number
                os.utime(path, ns=(past, past))


HEAD = {
    "created_at": NOW.isoformat(),
    "last_active": NOW.isoformat(),
    "status": "active",
    "conversation_type": "plan",
}


def truth(root: Path) -> list[ConversationRow]:
    """What somebody finds who knows nothing yet."""
    with Catalog(":memory:") as fresh:
        return fresh.list([str(root)])


def listed(catalog: Catalog, root: Path) -> dict[str, ConversationRow]:
    """The rows by id, which have to be the true ones."""
    rows = catalog.list([str(root)])
    assert rows == truth(root)
    return {row.id: row for row in rows}


def settle(catalog: Catalog, space: Space) -> dict[str, ConversationRow]:
    space.age()
    catalog.list([str(space.root)])
    return listed(catalog, space.root)
