"""A workspace in a repository, with one conversation and what a person has staged beside it."""

import os
import subprocess
from pathlib import Path
from typing import Any

from cortext.git.commit_conversation import record
from cortext.git.commit_outcome import Recorded

ID = "001-brainstorm-api"
PLACE = f"conversations/2026-01-02/{ID}"
MARKDOWN, HEAD, MESSAGES = "brainstorm.md", ".session/session.json", ".session/messages.jsonl"
NAMES = (MARKDOWN, HEAD, MESSAGES)

RECORD = """
import sys
from cortext.git.commit_conversation import record
root, folder, *files = sys.argv[1:]
sys.stdin.readline()
print(record(root, folder, files, mode="auto", title="T", id="x", verb="stop").outcome)
"""
"""A child process that records when it is told to: arguments ROOT FOLDER FILE..."""


class Space:
    """A folder with a conversation in it; `init` makes it a repository.

    A conversation that exists is left as it is.
    """

    def __init__(self, root: Path, place: str = PLACE) -> None:
        self.root = root
        self.place = place
        self.folder = root / place
        if (self.folder / ".session").exists():
            return
        (self.folder / ".session").mkdir(parents=True)
        for name in NAMES:
            self.write(name, f"{name}, first\n")

    def init(self, *options: str) -> "Space":
        self.git("init", "-q", "-b", "main", *options)
        return self

    def begin(self) -> "Space":
        """A repository with one commit of somebody's."""
        self.init()
        (self.root / "theirs.txt").write_text("one\n")
        self.git("add", "theirs.txt")
        self.git("commit", "-q", "-m", "theirs")
        return self

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def git(self, *args: str, check: bool = True, at: Path | None = None) -> str:
        """Plain git, as the person runs it."""
        done = subprocess.run(
            ["git", *args], cwd=at or self.root, check=check, capture_output=True, timeout=60
        )
        return os.fsdecode(done.stdout)

    def record(self, mode: str = "auto", *names: str, **other: Any) -> Recorded:
        said: dict[str, Any] = {"title": "API design", "id": ID, "verb": "stop"} | other
        files = [str(self.folder / name) for name in names or NAMES]
        return record(str(self.root), str(self.folder), files, mode=mode, **said)

    def status(self) -> str:
        return self.git("status", "--porcelain", "-uall")

    def committed(self, commit: str = "HEAD") -> list[str]:
        """The files that a commit changed, relative to the top."""
        shown = self.git("show", "--format=", "--name-only", "-z", "--no-renames", commit)
        return sorted(shown.split("\0")[:-1])

    def content(self, name: str, commit: str = "HEAD") -> str:
        return self.git("cat-file", "blob", f"{commit}:{self.place}/{name}")

    def subject(self) -> str:
        return self.git("log", "-1", "--format=%s").rstrip("\n")

    @property
    def paths(self) -> list[str]:
        return sorted(f"{self.place}/{name}" for name in NAMES)

    @property
    def locks(self) -> list[str]:
        """What would keep git from working here."""
        return [str(path) for path in (self.root / ".git").rglob("*.lock")]
