"""Capturing one new turn of a long transcript: what our own code takes of the time, and how long
Claude Code waits for the hook that does it.

python -m bench.capture [MEGABYTES]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.lists import CORTEXT
from bench.starts import clean_environment
from bench.timing import in_turns, runs

SESSION = "11111111-2222-4333-8444-555555555555"
LIMIT = 30.0  # ms
WAITED = 200.0  # ms
TURNS = 15


class Transcript:
    """A session of Claude Code, of which nearly all is what tools printed."""

    def __init__(self, path: Path) -> None:
        self._path, self._count, self._answered, self._parent = path, 0, 0, None
        path.parent.mkdir(parents=True)

    def turn(self, size: int = 4000) -> None:
        lines = [self._line("user", f"Request {self._count}: what is wrong here?")]
        call = {
            "type": "tool_use",
            "id": f"t{self._count}",
            "name": "Bash",
            "input": {"command": "x"},
        }
        lines.append(self._line("assistant", [call]))
        result = {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": "line of output\n" * (size // 15),
        }
        lines.append(self._line("user", [result]))
        self._answered = self._count
        lines.append(self._line("assistant", [{"type": "text", "text": f"Answer {self._count}."}]))
        with self._path.open("ab") as file:
            file.write(b"".join(lines))

    def payload(self, folder: str) -> bytes:
        """What Claude Code tells a hook when the last turn has ended."""
        told = {"hook_event_name": "Stop", "last_assistant_message": f"Answer {self._answered}."}
        return self._told(folder, told)

    def compacted(self, folder: str) -> bytes:
        """What Claude Code tells a hook after a compaction."""
        return self._told(folder, {"hook_event_name": "SessionStart", "source": "compact"})

    def _told(self, folder: str, more: dict[str, str]) -> bytes:
        place = {"session_id": SESSION, "transcript_path": str(self._path), "cwd": folder}
        return json.dumps({**place, **more}).encode()

    def _line(self, role: str, content: Any) -> bytes:
        self._count += 1
        id = f"00000000-0000-4000-8000-{self._count:012}"
        message = {"role": role, "content": content}
        if role == "assistant":
            message |= {
                "id": f"msg_{self._count}",
                "model": "claude",
                "usage": {"output_tokens": 7},
            }
        at = datetime.fromtimestamp(1_750_000_000 + self._count, UTC).isoformat()
        line = {"type": role, "uuid": id, "parentUuid": self._parent, "timestamp": at}
        line |= {"sessionId": SESSION, "cwd": "/work", "version": "2.1.325", "message": message}
        self._parent = id
        return json.dumps(line).encode() + b"\n"


def measure(folder: str, megabytes: int = 10) -> dict[str, float]:
    """Medians in ms of our own time, without waiting for the disk or for other processes: a new
    turn as a hook captures it, and all of it as `stop` does."""
    os.environ |= {"HOME": folder, "XDG_DATA_HOME": f"{folder}/data"}
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)
    from cortext.features.capture.bindings import ConversationRef, bind
    from cortext.features.capture.capture import capture
    from cortext.workspace.workspace import Workspace

    path = Path(folder, f".claude/projects/-work/{SESSION}.jsonl")
    transcript = Transcript(path)
    while not path.exists() or path.stat().st_size < megabytes << 20:
        transcript.turn()
    workspace = Workspace.init(f"{folder}/w")
    session = workspace.new("brainstorm", "A long one").session
    place = workspace.store.place_of(session.id, session)
    bind(ConversationRef(workspace.root, place), "claude", SESSION, str(path), after="")
    first = _time(lambda: capture(workspace.root, place))
    turns: list[float] = []
    for _ in range(TURNS):
        transcript.turn()
        turns.append(_time(lambda: capture(workspace.root, place)))
    whole = _time(lambda: capture(workspace.root, place, whole=True))
    found = {"first": first, "turn": median(turns), "whole": whole}
    return found | _hooks(workspace.root, f"{place.folder}/.session/messages.jsonl", transcript)


def _hooks(root: str, kept: str, transcript: Transcript) -> dict[str, float]:
    """Median ms of all of the process that Claude Code starts and waits for after a turn, and of
    a bare start, taken in turns."""
    environment = clean_environment()

    def start(*command: str, given: bytes = b"") -> None:
        subprocess.run(
            command, cwd=root, env=environment, input=given, check=True, stdout=subprocess.DEVNULL
        )

    operations = {
        "bare": lambda: start(sys.executable, "-c", "pass"),
        "hook": lambda: start(CORTEXT, "hook", "claude", "Stop", given=transcript.payload(root)),
        "recall": lambda: start(
            *(CORTEXT, "hook", "claude", "SessionStart", "--recall"),
            given=transcript.compacted(root),
        ),
    }

    def turn(_: int) -> dict[str, float]:
        transcript.turn()
        before = os.path.getsize(kept)
        spent = in_turns(operations, 1)
        if os.path.getsize(kept) <= before:
            raise SystemExit("the hook captured nothing")
        return spent

    return {name: median(spent) * 1e3 for name, spent in runs(turn, TURNS).items()}


def _time(work: Any) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e3


def main() -> int:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory(prefix="cortext-bench-") as folder:
        found = measure(folder, megabytes)
    if "--json" in sys.argv:
        print(json.dumps(found))
        return 0
    for name, spent in found.items():
        print(f"{name:6} {spent:8.1f} ms")
    print(f"the hook takes {found['hook'] / found['bare']:.1f} x a bare start")
    return 0 if found["turn"] <= LIMIT and found["hook"] <= WAITED else 1


if __name__ == "__main__":
    sys.exit(main())
