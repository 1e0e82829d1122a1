"""Conversations to show, and what a terminal gets from a command."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

from cortext import Session, SessionMessage, open_session_store

SCRIPT = str(Path(sys.executable).with_name("cortext"))
STYLE = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = (
    "\x1b]0;title\x07", "\x1b]8;;http://evil.test\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;aGk=\x07",
    "\x1b[2J\x1b[1;1H", "\x1b[31mred", "\x1bP1$r\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\",
    "\x9b31m", "\x9d0;x\x9c", "\x07", "\r", "\x08\x08", "\x00", "\x7f", "\u202e", "\u2066",
    "\u2069", "\u200b", "\u2060", "\ufeff", "\u061c", "\u2028", "\U000e0041", "\ud800",
    "[red]x[/]", "[link=http://evil.test]y[/link]", "[bold", ":boom:",
    "[a](javascript:alert(1))", "![i](http://evil.test/i.png)", "<http://evil.test/auto>",
    "&#27;[2J", "&#x9b;31m", "&#13;", "&#x202e;", "&ZeroWidthSpace;", "&#8;",
    '[b](http://evil.test/&#x202e;x "\u202e")', "```\x1b]0;x\x07\n\x1b[2J\n```",
)  # fmt: skip


def cortext(cwd: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *args],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def in_terminal(cwd: Path, *args: str, columns: int = 80, **environment: str) -> str:
    """What a terminal of that width gets from a command."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    told = {"NO_COLOR", "COLUMNS", "LINES"}
    plain = {name: value for name, value in os.environ.items() if name not in told}
    environment = {"TERM": "xterm-256color", "PAGER": "cat", **environment}
    got = bytearray()

    def collect() -> None:
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other side was closed
                return
            got.extend(data)

    child = subprocess.Popen(
        [SCRIPT, *args], cwd=cwd, stdin=its, stdout=its, stderr=its, env={**plain, **environment}
    )
    os.close(its)
    reader = threading.Thread(target=collect)
    reader.start()
    child.wait(timeout=60)
    reader.join(timeout=60)
    os.close(ours)
    return got.decode("utf-8").replace("\r\n", "\n")


def assert_harmless(text: str) -> None:
    """Nothing is left but text, lines, tabs and colours."""
    bare = STYLE.sub("", text)
    bad = {c for c in bare if not (c.isprintable() or c in "\n\t\u200c\u200d")}
    assert bad == set()


def keep(workspace: Path, id: str, *messages: SessionMessage, **head: Any) -> Path:
    """Save a conversation; its folder."""
    head = {"title": "Token race", "kind": "debug", **head}
    session = Session(id, messages=list(messages), **head)
    open_session_store(f"workspace:{workspace}").save(session)
    (folder,) = workspace.glob(f"conversations/*/{id}")
    return folder
