"""A person who uses Claude Code in plain folders."""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path


class Person:
    """Somebody who uses Claude Code in plain folders."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder

    def project(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    def say(self, cwd: Path, texts: Sequence[str], *, hours: float = 1, session: str = "") -> str:
        """Say it in a session of Claude Code, so long ago; the session's id."""
        id = session or str(uuid.uuid4())
        folder = self.home / ".claude/projects" / str(cwd).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{id}.jsonl"
        before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        parent = json.loads(before[-1])["uuid"] if before else None
        when = datetime.now(UTC) - timedelta(hours=hours)
        with path.open("a", encoding="utf-8") as file:
            for number, text in enumerate(texts):
                role = ("user", "assistant")[number % 2]
                line = {
                    "parentUuid": parent, "uuid": str(uuid.uuid4()), "type": role,
                    "sessionId": id, "cwd": str(cwd), "isSidechain": False, "userType": "external",
                    "version": "2.1.325", "message": {"role": role, "content": text},
                    "timestamp": (when + timedelta(seconds=number)).isoformat(),
                }  # fmt: skip
                parent = line["uuid"]
                file.write(f"{json.dumps(line)}\n")
        return id
