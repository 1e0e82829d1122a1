"""A workspace with a conversation in Claude Code, and tools to continue it in."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.command import head_of, ok
from tests.homes import lay_out, move_project, said

ID, TURNS = said("claude")
TOOL = "#!/bin/sh\nread line\n"


class Place:
    """A workspace with a conversation that was had in Claude Code, and tools to go on in."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.homes = lay_out(folder / "person")
        move_project(self.homes, self.root)
        programs = folder / "programs"
        programs.mkdir()
        for name in ("claude", "codex"):
            (programs / name).write_text(TOOL, encoding="utf-8")
            (programs / name).chmod(0o755)
        self.programs = programs
        self.env: Mapping[str, str] = {
            **self.homes.environment,
            "PATH": f"{programs}:/usr/bin:/bin",
            "CI": "true",
        }
        self.ok("init")
        self.key = self.ok("import", ID).strip().removeprefix("imported: ")

    def ok(self, *words: str) -> str:
        return ok(self.root, *words, env=self.env)

    def head(self) -> dict[str, Any]:
        return head_of(self.root, self.key)

    def say_more(self, text: str) -> None:
        """One more answer in the tool's own transcript."""
        path = self.homes.transcript("claude")
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        answers = [each for each in map(json.loads, lines) if each.get("type") == "assistant"]
        last = answers[-1]
        more = {
            "parentUuid": last["uuid"],
            "uuid": "00000000-0000-4000-8000-000000000001",
            "type": "user",
            "timestamp": "2027-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": text},
        }
        same = ("sessionId", "cwd", "version", "isSidechain")
        kept = {name: value for name, value in last.items() if name in same}
        path.write_text("\n".join([*lines, json.dumps(kept | more), ""]), encoding="utf-8")
