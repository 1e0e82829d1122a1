"""Transcripts of Claude Code, made line by line."""

import json
from pathlib import Path
from typing import Any

from cortext.tools.claude.reader import ClaudeBridge
from cortext.tools.reader_protocol import DecodedTranscript, TranscriptSource

ID = "11111111-2222-4333-8444-555555555555"


def line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line as the tool writes it; `uuid` is a letter and its place in time."""
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": more.pop("reply", f"msg_{uuid}"), "model": "claude-x"}
        message["usage"] = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}
    at = f"2026-01-01T00:00:{int(uuid[1:]):02}.000Z"
    place = {"cwd": "/home/you/p", "version": "2.1.325", "gitBranch": "main", "sessionId": ID}
    ids = {"uuid": uuid, "parentUuid": parent, "timestamp": at, "isSidechain": False}
    return {**ids, "type": role, **place, "message": message, **more}


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def use(id: str, name: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id, "name": name, "input": given}]


def result(id: str, content: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": content, **more}]


def write(home: Path, *lines: dict[str, Any] | bytes, name: str = ID) -> TranscriptSource:
    path = home / "projects" / "-home-you-p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines]
    path.write_bytes(b"".join(made))
    return next(source for source in ClaudeBridge(str(home)).sources() if source.id == name)


def decode(home: Path, *lines: dict[str, Any] | bytes) -> DecodedTranscript:
    return ClaudeBridge(str(home)).decode(write(home, *lines))


def words(decoded: DecodedTranscript) -> list[str]:
    return [message.content for message in decoded.session.messages]
