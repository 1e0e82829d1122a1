"""The real command line, in a real workspace."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortext import SessionMessage, open_session_store
from tests.command_server import run_command

NEEDS_A_START = {"PYTHONPATH", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS", "LC_CTYPE"}
"""Python reads these when it starts."""
SCRIPT = str(Path(sys.executable).with_name("cortext"))


def cortext(
    cwd: Path, *args: str, env: Mapping[str, str] | None = None, script: str = "cortext"
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(env or {})}
    if not NEEDS_A_START.intersection(environment):
        return run_command(script, args, cwd, environment, timeout=60)
    return subprocess.run(
        [str(Path(SCRIPT).with_name(script)), *args],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def stop_notes(done: subprocess.CompletedProcess[str]) -> str:
    """Return the stderr of `cortext stop` without the line that says how to resume in a shell."""
    lines = done.stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("In a shell: cortext resume "))


def run_aur(
    cwd: Path, *args: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`aur spawn`, without a terminal."""
    return cortext(cwd, "spawn", *args, env=env, script="aur")


def ok(cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
    """What a command prints that has to succeed."""
    done = cortext(cwd, *args, env=env)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout


def begin(workspace: Path, kind: str, topic: str, *texts: str) -> str:
    """A conversation in which something was said; its id."""
    document = Path(ok(workspace, "new", kind, topic).strip())
    say(workspace, document.parent.name, *texts)
    return document.parent.name


def say(workspace: Path, id: str, *texts: str) -> None:
    """The person and the agent in turn."""
    roles = ("user", "assistant")
    messages = [SessionMessage(roles[n % 2], text) for n, text in enumerate(texts)]  # type: ignore[arg-type]
    open_session_store(f"workspace:{workspace}").append(id, *messages)


def folder_of(workspace: Path, id: str) -> Path:
    (found,) = workspace.glob(f"conversations/*/{id}")
    return found


def head_of(workspace: Path, id: str) -> dict[str, Any]:
    path = folder_of(workspace, id) / ".session/session.json"
    return json.loads(path.read_text(encoding="utf-8"))


def change_head(workspace: Path, id: str, **fields: Any) -> None:
    """As another program might, or time."""
    path = folder_of(workspace, id) / ".session/session.json"
    path.write_text(json.dumps({**head_of(workspace, id), **fields}), encoding="utf-8")


def git(cwd: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout
