"""Rollouts of Codex, made line by line."""

import json
from pathlib import Path
from typing import Any

from cortext.tools.codex.reader import CodexBridge
from cortext.tools.reader_protocol import TranscriptSource

ID = "01a1e1db-0000-7ca2-9f82-001f9edda8b6"
META = {"id": ID, "cwd": "/home/you/p", "cli_version": "0.166.0", "git": {"branch": "main"}}


def record(kind: str, second: int = 0, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-01-01T00:00:{second:02}.000Z", "type": kind, "payload": payload}


def user(text: str, second: int = 1) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": text}]
    return record("response_item", second, type="message", role="user", content=parts)


HEAD = (record("session_meta", **META), record("turn_context", model="gpt-x"))


def write(home: Path, *lines: dict[str, Any] | bytes, id: str = ID) -> TranscriptSource:
    path = home / "sessions" / "2026" / "01" / "01" / f"rollout-2026-01-01T00-00-00-{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines]
    path.write_bytes(b"".join(made))
    return next(source for source in CodexBridge(str(home)).sources() if source.id == id)
