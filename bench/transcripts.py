"""Transcripts of the AI tools, as many and as large as a bench needs, with text like the real.

The lines have the shapes that the tools write (`tests/tools/golden`); each Claude Code file
begins with the first lines of a recording. What they hold is drawn at random, from a seed:
tool output, nearly all of a real transcript, is slices of the standard library's source files and
listings of them; what people and models say is sentences of words from its docstrings. Every id
is new, and times go on. Nothing is repeated but what the tools repeat (Claude Code and OpenCode
write each result twice).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sqlite3
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "tests/tools/golden"
GOLDEN = _RECORDED / "claude/2.1.325/projects"
BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


class Words:
    """Text to draw from."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        library = Path(sysconfig.get_path("stdlib"))
        self._files = [path for path in sorted(library.rglob("*.py")) if "test" not in str(path)]
        self._text: dict[Path, list[str]] = {}
        words = re.findall(r"[A-Za-z]{2,12}", "".join(self.source(2000) for _ in range(40)))
        self._words = list(dict.fromkeys(words))

    def source(self, characters: int) -> str:
        """Some lines of a file, numbered as tools number them."""
        found: list[str] = []
        size = 0
        while size < characters:
            path = self.random.choice(self._files)
            if path not in self._text:
                self._text[path] = path.read_text("utf-8", "replace").split("\n")
            lines = self._text[path]
            start = self.random.randrange(len(lines))
            for number, line in enumerate(lines[start : start + 400], start + 1):
                found.append(f"{number:6}\t{line}")
                size += len(line) + 8
                if size >= characters:
                    break
        return "\n".join(found)

    def sentence(self, most: int) -> str:
        count = self.random.randrange(3, most)
        return " ".join(self.random.choice(self._words) for _ in range(count)).capitalize() + "."

    def path(self) -> str:
        return f"/home/you/project/{self.random.choice(self._files).name}"

    def id(self) -> str:
        raw = f"{self.random.getrandbits(128):032x}"
        return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-8{raw[17:20]}-{raw[20:]}"


def claude(words: Words, id: str, size: int) -> Iterator[bytes]:
    recorded = next(iter(sorted(GOLDEN.glob("*/*.jsonl")))).read_bytes().split(b"\n")[:15]
    yield b"\n".join(recorded).replace(_session(recorded), id.encode()) + b"\n"
    parent: str | None = None
    made, when = 0, BEGAN

    def line(kind: str, message: dict[str, Any], **more: Any) -> bytes:
        nonlocal parent, made, when
        when += timedelta(seconds=words.random.random() * 30)
        uuid = words.id()
        value = {
            "parentUuid": parent, "isSidechain": False, "userType": "external",
            "cwd": "/home/you/project", "sessionId": id, "version": "2.1.325",
            "gitBranch": "main", "type": kind, "message": message, "uuid": uuid,
            "timestamp": when.isoformat().replace("+00:00", "Z"), **more,
        }  # fmt: skip
        parent = uuid
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        made += len(data)
        return data

    def reply(content: dict[str, Any]) -> bytes:
        usage = {name: words.random.randrange(9000) for name in ("input_tokens", "output_tokens")}
        message = {"id": f"msg_{words.id()[:24]}", "type": "message", "role": "assistant"}
        message |= {"model": "claude-x", "content": [content], "stop_reason": None, "usage": usage}
        return line("assistant", message, requestId=f"req_{words.id()[:24]}")

    while made < size:
        yield line("user", {"role": "user", "content": words.sentence(40)})
        for _ in range(words.random.randrange(1, 12)):
            call, path = f"toolu_{words.id()[:24]}", words.path()
            given = {"file_path": path, "offset": words.random.randrange(900)}
            yield reply({"type": "tool_use", "id": call, "name": "Read", "input": given})
            text = words.source(int(words.random.lognormvariate(8, 1.2)))
            block = {"type": "tool_result", "tool_use_id": call, "content": text}
            file = {"filePath": path, "content": re.sub(r"(?m)^ *\d+\t", "", text)}
            message = {"role": "user", "content": [block]}
            yield line("user", message, toolUseResult={"type": "text", "file": file})
        yield reply({"type": "text", "text": words.sentence(120)})


def _session(lines: list[bytes]) -> bytes:
    return next(json.loads(line)["sessionId"] for line in lines if b'"sessionId"' in line).encode()


def codex(words: Words, id: str, size: int) -> Iterator[bytes]:
    made, when = 0, BEGAN

    def line(kind: str, payload: dict[str, Any]) -> bytes:
        nonlocal made, when
        when += timedelta(seconds=words.random.random() * 30)
        value = {"timestamp": when.isoformat(), "type": kind, "payload": payload}
        data = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        made += len(data)
        return data

    meta = {"id": id, "cwd": "/home/you/project", "cli_version": "0.166.0"}
    yield line("session_meta", {**meta, "timestamp": BEGAN.isoformat()})
    while made < size:
        said = words.sentence(40)
        content = [{"type": "input_text", "text": said}]
        yield line("response_item", {"type": "message", "role": "user", "content": content})
        yield line("event_msg", {"type": "user_message", "message": said})
        for _ in range(words.random.randrange(1, 12)):
            call = f"call_{words.id()[:20]}"
            given = json.dumps({"cmd": f"sed -n 1,200p {words.path()}"})
            made_call = {"type": "function_call", "name": "exec_command", "call_id": call}
            yield line("response_item", {**made_call, "arguments": given})
            output = words.source(int(words.random.lognormvariate(8, 1.2)))
            result = {"type": "function_call_output", "call_id": call, "output": output}
            yield line("response_item", result)
        content = [{"type": "output_text", "text": words.sentence(120)}]
        yield line("response_item", {"type": "message", "role": "assistant", "content": content})


def gemini(words: Words, id: str, size: int) -> Iterator[bytes]:
    made, when = 0, BEGAN
    head = {"sessionId": id, "projectHash": hashlib.sha256(b"/home/you/project").hexdigest()}
    yield json.dumps({**head, "startTime": when.isoformat(), "kind": "main"}).encode() + b"\n"

    def line(kind: str, **fields: Any) -> bytes:
        nonlocal made, when
        when += timedelta(seconds=words.random.random() * 30)
        value = {"id": words.id(), "timestamp": when.isoformat(), "type": kind, **fields}
        data = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        made += len(data)
        return data

    while made < size:
        yield line("user", content=[{"text": words.sentence(40)}])
        for _ in range(words.random.randrange(1, 8)):
            call = words.id()
            output = words.source(int(words.random.lognormvariate(8, 1.2)))
            response = {"id": call, "name": "read_file", "response": {"output": output}}
            done = {"id": call, "name": "read_file", "args": {"file_path": words.path()}}
            done |= {"result": [{"functionResponse": response}], "status": "success"}
            tokens = {"input": words.random.randrange(9000), "output": 9, "total": 99}
            text = words.sentence(60)
            yield line("gemini", content=text, toolCalls=[done], tokens=tokens, model="gemini-x")


# Recordings hold the tables alone; these are what OpenCode 1.18.33 makes beside them.
_INDEXES = """
CREATE INDEX session_parent_idx ON session (parent_id);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


def opencode(words: Words, home: Path, size: int) -> Path:
    """A new database with one session, whose rows hold so many bytes of JSON."""
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    recorded = (_RECORDED / "opencode/1.18.33/opencode.sql").read_text("utf-8")
    tables = re.findall(r"CREATE TABLE .*?\n *\);\n", recorded, re.DOTALL)
    id, at = f"ses_{words.id()[:24]}", int(BEGAN.timestamp() * 1000)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("".join(tables) + _INDEXES)
        for table, row in _rows(words, id, at, size):
            database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        database.execute(
            "INSERT INTO session (id, project_id, slug, directory, title, version, time_created,"
            " time_updated) VALUES (?, 'p', 's', '/home/you/project', 'A title', '1.18.33', ?, ?)",
            (id, at, at),
        )
    return path


def _rows(words: Words, session: str, at: int, size: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The messages of a session, each with its parts."""
    made, number = 0, 0

    def row(table: str, value: dict[str, Any], *of: str) -> tuple[str, tuple[Any, ...]]:
        nonlocal made, number
        number += 1
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        made += len(data.encode())
        id, when = f"{table[:3]}_{number:012x}{words.id()[:14]}", at + number * 1000
        return table, (id, *of, session, when, when, data)

    def message(role: str, *parts: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        spent = {"input": words.random.randrange(9000), "output": 9, "reasoning": 0}
        model = {"agent": "build", "modelID": "model-x", "providerID": "stub", "cost": 0}
        info = {"role": role, **model, "time": {"created": at + number * 1000}, "tokens": spent}
        made_message = row("message", info)
        yield made_message
        for part in parts:
            yield row("part", part, made_message[1][0])

    def step(*parts: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        ends = {"snapshot": words.id(), "type": "step-start"}
        yield from message("assistant", ends, *parts, {**ends, "type": "step-finish", "cost": 0})

    while made < size:
        yield from message("user", {"type": "text", "text": words.sentence(40)})
        for _ in range(words.random.randrange(1, 12)):
            text, file = words.source(int(words.random.lognormvariate(8, 1.2))), words.path()
            shown = {"type": "file", "path": file, "text": re.sub(r"(?m)^ *\d+\t", "", text)}
            state = {"status": "completed", "input": {"filePath": file}, "output": text}
            state |= {"metadata": {"truncated": False, "display": shown}, "title": file}
            state["time"] = {"start": at + number * 1000, "end": at + number * 1000 + 40}
            call = f"call_{words.id()[:24]}"
            yield from step({"type": "tool", "tool": "read", "callID": call, "state": state})
        yield from step({"type": "text", "text": words.sentence(120)})


_KINDS: dict[str, tuple[Callable[[Words, str, int], Iterator[bytes]], str]] = {
    "claude": (claude, ".claude/projects/-home-you-project/{id}.jsonl"),
    "codex": (codex, ".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{id}.jsonl"),
    "gemini": (gemini, ".gemini/tmp/project/chats/session-2026-01-02T00-00-{short}.jsonl"),
}


def write_one(tool: str, home: Path, words: Words, size: int) -> Path:
    """A new transcript of a tool below a home."""
    if tool == "opencode":
        return opencode(words, home, size)
    kind, place = _KINDS[tool]
    id = words.id()
    path = home / place.format(id=id, short=id[:8])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(kind(words, id, size))
    return path


def make(home: str, count: int, total: int, seed: int = 1) -> int:
    """Fill a home: four of six transcripts are Claude Code's, their sizes are spread like real
    ones (many small, few large), `total` bytes in all. How many bytes it became."""
    words = Words(seed)
    shares = [words.random.lognormvariate(0, 1) for _ in range(count)]
    written = 0
    for number, share in enumerate(shares):
        tool = ("claude", "claude", "codex", "claude", "gemini", "claude")[number % 6]
        path = write_one(tool, Path(home), words, int(total * share / sum(shares)))
        written += path.stat().st_size
        when = 1_767_312_000 + number * 3600
        os.utime(path, (when, when))
    return written


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
