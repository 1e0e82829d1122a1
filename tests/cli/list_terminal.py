"""Workspaces with conversations, and a terminal that lists them."""

import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cortext import Session, SessionMessage
from cortext.stores.folder import FolderStore
from tests.command import SCRIPT, ok

ESCAPES = (
    "\x1b]0;t\x07\x1b]8;;http://evil.test\x1b\\l\x1b]52;c;aGk=\x07",
    "\x1b[2J\x1b[1;1H\x1b[31mred",
    "\x1bP1$r\x1b\\\x1b_a\x1b\\\x1b^p\x1b\\",
    "\x9b31m\x9d0;x\x9c\x90\x85",
    "a\x00\x07\x08\x7f\x0b\x0c\x1c\x1fb",
    "\u202ea\u2066b\u2069\u200f\u061c",
    "\u200b\u2060\ufeff\U000e0041\u00ad",
    "a\nb\r\nc\u2028d\u2029e",
    "\ud800x\udfff",
)


class Shown(NamedTuple):
    """What a terminal shows, and the exit code of its last command."""

    text: str
    code: int


def terminal(
    cwd: Path, *commands: Sequence[str], answers: Sequence[str] = (), columns: int = 100
) -> Shown:
    """A terminal in which one command after the other is given, and questions are answered."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    script = "\n".join(shlex.join([SCRIPT, *command]) for command in commands)
    got = bytearray()

    def collect() -> None:
        while True:
            try:
                got.extend(os.read(ours, 65536))
            except OSError:  # the other side was closed
                return

    child = subprocess.Popen(
        ["sh", "-c", script + "\nexit $?"], cwd=cwd, stdin=its, stdout=its, stderr=its,
        env={**os.environ, "TERM": "xterm", "PAGER": "cat"}, start_new_session=True,
    )  # fmt: skip
    os.close(its)
    reader = threading.Thread(target=collect)
    reader.start()
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode() + b"\x04")
    code = child.wait(timeout=60)
    reader.join(timeout=60)
    os.close(ours)
    return Shown(got.decode("utf-8").replace("\r\n", "\n"), code)


def harmless(text: str) -> None:
    """Nothing is left but text and lines."""
    assert {c for c in text if not (c.isprintable() or c in "\n\t\u200c\u200d")} == set()


def made(root: Path) -> Path:
    (root / ".workspace").mkdir(parents=True)
    return root


def put(root: Path, id: str, *texts: str, minutes: float = 0, **head: Any) -> str:
    """A conversation that was last active so many minutes ago."""
    when = datetime.now(UTC) - timedelta(minutes=minutes)
    messages = [SessionMessage("user", text, timestamp=when) for text in texts]
    fields = {"title": id, "kind": "plan", "status": "paused", "created_at": when, **head}
    FolderStore(root).save(Session(id, updated_at=when, messages=messages, **fields))
    return id


def snapshot(root: Path) -> dict[str, Any]:
    """Everything below a folder: bytes, modes and times."""
    found = {str(path): path.lstat() for path in (root, *root.rglob("*"))}
    return {
        name: (stat.st_mode, stat.st_mtime_ns, stat.st_ino, Path(name).is_file() and
        Path(name).read_bytes()) for name, stat in found.items()
    }  # fmt: skip


def listed(space: Path, *options: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in json.loads(ok(space, "list", "--json", *options))}
