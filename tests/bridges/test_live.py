"""Which command lines are a tool's, and which session they say."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortext.bridges.live import is_program, live_sessions

ID = "11111111-2222-4333-8444-555555555555"
NEW = "99999999-2222-4333-8444-555555555555"


@contextmanager
def running(folder: Path, name: str, *words: str) -> Iterator[int]:
    """A program of this name that waits, with these words."""
    path = folder / name
    path.write_text("#!/bin/sh\nread line\n", encoding="utf-8")
    path.chmod(0o755)
    with subprocess.Popen([path, *words], stdin=subprocess.PIPE) as process:
        assert process.stdin
        try:
            for _ in range(500):
                if os.fsencode(path) in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                    break
            yield process.pid
        finally:
            process.stdin.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize(
    ("line", "ids"),
    [
        (f"claude --resume {ID}", [ID]),
        (f"claude --resume={ID}", [ID]),
        (f"claude -r {ID} fork", [ID]),
        (f"claude --resume /some/folder/{ID}.jsonl", [ID]),
        (f"claude --resume {ID} --fork-session --session-id {NEW}", [NEW]),
        (f"claude --resume {ID} --fork-session", []),
        (f"claude --session-id {NEW}", [NEW]),
        (f"claude -p {ID}", []),
        (f"codex resume {ID}", [ID]),
        (f"codex exec resume -c a=b {ID} -", [ID]),
        (f"codex fork {ID}", []),
        (f"gemini --resume {ID}", [ID]),
        ("opencode run -s ses_0123456789 hello", ["ses_0123456789"]),
        ("opencode run --session ses_0123456789 --fork", []),
        (f"grep claude {ID}", []),
        (f"grep claude --resume {ID}", []),
    ],
)
def test_a_command_line_says_its_session(line: str, ids: list[str], tmp_path: Path) -> None:
    """Only behind the options for it; of a copy the copy's."""
    name, *words = line.split()
    with running(tmp_path, name, *words) as pid:
        assert [id for (_, id), found in live_sessions().items() if found == pid] == ids


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("/usr/bin/node --no-warnings=X /usr/lib/gemini", "gemini"),
        ("node /x/@anthropic-ai/claude-code/cli.js", "claude"),
        ("/opt/.opencode", "opencode"),
        ("codex exec", "codex"),
        ("vim claude", ""),
        ("tail -f codex", ""),
        ("", ""),
    ],
)
def test_programs_of_tools(line: str, tool: str) -> None:
    """What only names a tool is none."""
    tools = [t for t in ("claude", "codex", "gemini", "opencode") if is_program(t, line.split())]
    assert tools == ([tool] if tool else [])
