"""Which command lines are a tool's, and which session they say."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cortext.tools.running_sessions import is_program, live_sessions

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
def test_live_sessions_reads_session_id_from_command_line(
    line: str, ids: list[str], tmp_path: Path
) -> None:
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
def test_is_program_recognises_only_programs_of_tools(line: str, tool: str) -> None:
    """What only names a tool is none."""
    tools = [t for t in ("claude", "codex", "gemini", "opencode") if is_program(t, line.split())]
    assert tools == ([tool] if tool else [])


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_hostile_opencode_row_hides_no_live_session(tmp_path: Path, data_home: Path) -> None:
    """Whatever a row of OpenCode's says its folder and time are, the others are found."""
    home = data_home / "opencode"
    home.mkdir(parents=True)
    now = int(time.time() * 1000) + 60_000
    rows = [
        ("ses_nul", b"/a\0b", now + 5),
        ("ses_bytes", b"/\xff\xfe", now + 4),
        ("ses_time", os.fsencode(tmp_path), 10**15),
        ("ses_word", os.fsencode(tmp_path), "soon"),
        ("ses_none", None, now + 3),
        ("ses_own", os.fsencode(tmp_path.resolve()), now),
    ]
    with closing(sqlite3.connect(home / "opencode.db")) as db:
        db.execute("CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated)")
        query = "INSERT INTO session VALUES (?, NULL, CAST(? AS TEXT), ?)"
        db.executemany(query, rows)
        db.commit()
    script = tmp_path / "opencode"
    script.write_text(f"exec 3< '{home}/opencode.db'\necho open\nread line\n", encoding="utf-8")
    with subprocess.Popen(
        ["sh", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"open\n"
        found = [id for (_, id), pid in live_sessions().items() if pid == process.pid]
        process.stdin.close()
    assert found == ["ses_own"]
