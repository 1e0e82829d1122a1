"""claude-agent-sdk: Claude Code's own transcripts, read by the SDK's functions.

Only Claude Code writes these files, so they are made here and appends are not measured. The
package ships a store in memory, for tests, and none that is durable.
"""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from .base import Message, Peer, clean_room

# It need not be there, and the files may be moved.
_PROJECT = "/nowhere/project"
_START = datetime(2026, 1, 1, tzinfo=UTC)


class ClaudeFiles(Peer):
    name = "Claude Code's files, by claude-agent-sdk"
    distribution = "claude-agent-sdk"
    imports = "from claude_agent_sdk import get_session_messages, list_sessions"
    syncs = False  # Claude Code's appends are not synced; nobody else makes any
    venv = "claude-agent-sdk"
    no_append = "only Claude Code writes these files"

    def open(self, folder: str) -> None:
        clean_room(folder)
        from claude_agent_sdk import get_session_messages, list_sessions

        self._read, self._list = get_session_messages, list_sessions
        self._folder = f"{folder}/claude/projects/{_PROJECT.replace('/', '-')}"
        os.makedirs(self._folder, exist_ok=True)
        self._last: dict[str, str] = {}

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        id = _uuid(session_id)
        lines: list[str] = []
        for number, (role, content) in enumerate(messages):
            record = {
                "parentUuid": self._last.get(id),
                "isSidechain": False,
                "type": role,
                "message": {"role": role, "content": content},
                "uuid": str(uuid4()),
                "timestamp": (_START + timedelta(seconds=number)).isoformat(),
                "cwd": _PROJECT,
                "sessionId": id,
            }
            self._last[id] = record["uuid"]
            lines.append(json.dumps(record) + "\n")
        with open(f"{self._folder}/{id}.jsonl", "a", encoding="utf-8") as file:
            file.writelines(lines)

    def load(self, session_id: str) -> Sequence[Any]:
        return self._read(_uuid(session_id), directory=_PROJECT)

    def create_session(self, number: int) -> None:
        self.append_many(f"session-{number:05}", [("user", f"hello {number}")])

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._list(directory=_PROJECT, limit=n)

    def close(self) -> None:
        self._last.clear()


def _uuid(session_id: str) -> str:
    return str(uuid5(NAMESPACE_URL, session_id))
