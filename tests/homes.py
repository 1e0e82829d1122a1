"""The folders of the four tools, filled with what the real ones wrote."""

import gzip
import json
import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

GOLDEN = Path(__file__).parent / "tools/golden"
VERSIONS = {"claude": "2.1.325", "codex": "0.166.0", "gemini": "0.61.0", "opencode": "1.18.33"}
PROJECT = "/home/you/project"
"""Where the recorded conversations were had."""


class Homes(NamedTuple):
    """A HOME in which all four tools were used, and where each keeps its own."""

    home: Path
    data: Path

    @property
    def own(self) -> dict[str, Path]:
        hidden = {tool: self.home / f".{tool}" for tool in ("claude", "codex", "gemini")}
        return {**hidden, "opencode": self.data / "opencode"}

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "XDG_DATA_HOME": str(self.data)}

    def archive(self, tool: str) -> Path:
        return self.data / "cortext/archive" / tool

    def transcript(self, tool: str) -> Path:
        """A tool's file with the conversation of `said`."""
        (id, _) = said(tool)
        if tool == "opencode":
            return self.own[tool] / "opencode.db"
        (path,) = self.own[tool].rglob(f"*{id[:8]}*.jsonl")
        return path


def lay_out(folder: Path) -> Homes:
    """The recorded histories of the four tools below a folder."""
    homes = Homes(folder / "home", folder / "data")
    homes.home.mkdir(parents=True)
    for tool, path in homes.own.items():
        golden = GOLDEN / tool / VERSIONS[tool]
        if tool == "opencode":
            path.mkdir(parents=True)
            with sqlite3.connect(path / "opencode.db") as db:
                db.executescript((golden / "opencode.sql").read_text(encoding="utf-8"))
            db.close()
        else:
            shutil.copytree(golden, path, ignore=shutil.ignore_patterns("said.json"))
    return homes


def said(tool: str) -> tuple[str, list[list[str]]]:
    """The id of the longest conversation that was had in a tool, and what was said."""
    path = GOLDEN / tool / VERSIONS[tool] / "said.json"
    all_said: dict[str, list[list[str]]] = json.loads(path.read_text(encoding="utf-8"))
    return max(all_said.items(), key=lambda item: len(item[1]))


def sessions(tool: str) -> list[str]:
    """The ids of all conversations that were had in a tool."""
    path = GOLDEN / tool / VERSIONS[tool] / "said.json"
    return list(json.loads(path.read_text(encoding="utf-8")))


def move_project(homes: Homes, project: Path) -> None:
    """Let the conversations have been had in another folder."""
    for path in homes.home.rglob("*"):
        if path.is_file():
            data = path.read_bytes().replace(PROJECT.encode(), str(project).encode())
            path.write_bytes(data)
    with sqlite3.connect(homes.own["opencode"] / "opencode.db") as db:
        db.execute("UPDATE session SET directory = ?", (str(project),))
    db.close()


def pack(homes: Homes, tool: str) -> None:
    """Our archive's copy of a tool's folder, made by hand as the format page says."""
    own = homes.own[tool]
    for path in own.rglob("*"):
        if not path.is_file():
            continue
        target = homes.archive(tool) / path.relative_to(own)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl" and path.name != "session_index.jsonl":
            target = target.with_name(f"{target.name}.gz")
            target.write_bytes(gzip.compress(path.read_bytes()))
            shutil.copystat(path, target)
        else:
            shutil.copy2(path, target)
