"""What a person has of a program's conversation: in lists, in searches, and in Claude Code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.command import ok


class Person:
    """At a machine of their own, on which there is a Claude Code that does nothing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._home = folder / "person"
        command = self._home / "bin" / "claude"
        command.parent.mkdir(parents=True)
        command.write_text("#!/bin/sh\n", encoding="utf-8")
        command.chmod(0o700)
        monkeypatch.setenv("HOME", str(self._home))
        monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
        monkeypatch.chdir(folder)

    def listed(self, owner: str) -> list[str]:
        """The titles of what a program keeps for somebody."""
        return [row["title"] for row in json.loads(self._run("list", "--owner", owner, "--json"))]

    def found(self, words: str, owner: str) -> set[str]:
        """The ids of those of somebody's conversations in which this was said."""
        hits = json.loads(self._run("search", words, "--owner", owner, "--json"))
        return {hit["id"] for hit in hits}

    def reopened(self, id: str) -> list[tuple[str, str]]:
        """What was said, as Claude Code is given it to go on with."""
        assert "claude --resume" in self._run(
            "resume", id, "--tool", "claude", "--print", "--write"
        )
        (file,) = (self._home / ".claude/projects").rglob("*.jsonl")
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        messages = [line["message"] for line in lines if "message" in line and not _is_meta(line)]
        return [(message["role"], _text(message["content"])) for message in messages]

    def _run(self, *args: str) -> str:
        return ok(self._folder, *args)


def _is_meta(line: dict[str, Any]) -> bool:
    return bool(line.get("isMeta"))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
