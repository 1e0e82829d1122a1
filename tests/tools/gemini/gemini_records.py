"""Chats of Gemini CLI, made record by record."""

from pathlib import Path
from typing import Any

from cortext.tools.reader_protocol import TranscriptSource

ID = "11111111-2222-4333-8444-555555555555"
HEAD = {
    "sessionId": ID, "projectHash": "f", "startTime": "2026-01-02T03:04:05.000Z",
    "lastUpdated": "2026-01-02T03:04:05.000Z", "kind": "main",
}  # fmt: skip


def user(id: str, text: str, second: int = 10, **more: Any) -> dict[str, Any]:
    stamp = f"2026-01-02T03:05:{second:02}.000Z"
    return {"id": id, "timestamp": stamp, "type": "user", "content": [{"text": text}], **more}


def place(
    home: Path, data: bytes, name: str = "session-2026-01-02T03-04-11111111.jsonl"
) -> TranscriptSource:
    path = home / "tmp" / "project" / "chats" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return TranscriptSource("gemini", ID, str(path), len(data), "x", "/home/you/project")
