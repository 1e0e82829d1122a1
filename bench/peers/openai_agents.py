"""openai-agents: SQLiteSession, one object per session over a shared file."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from .base import Message, Peer, clean_room


class OpenAIAgents(Peer):
    name = "openai-agents SQLiteSession"
    distribution = "openai-agents"
    imports = "from agents import SQLiteSession"
    syncs = True  # 20 fdatasync of the WAL for 20 appends: WAL, synchronous left at FULL

    def open(self, folder: str) -> None:
        clean_room(folder)
        import asyncio

        from agents import SQLiteSession

        self._loop = asyncio.new_event_loop()
        self._make = SQLiteSession
        self._path = f"{folder}/sessions.db"
        self._open: dict[str, Any] = {}

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _session(self, session_id: str) -> Any:
        session = self._open.get(session_id)
        if session is None:
            session = self._open[session_id] = self._make(session_id, self._path)
        return session

    def append(self, session_id: str, role: str, content: str) -> None:
        item = {"role": role, "content": content}
        self._run(self._session(session_id).add_items([item]))

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        items = [{"role": role, "content": content} for role, content in messages]
        self._run(self._session(session_id).add_items(items))

    def last(self, session_id: str, n: int) -> list[Any]:
        return self._run(self._session(session_id).get_items(limit=n))

    def load(self, session_id: str) -> list[Any]:
        return self._run(self._session(session_id).get_items())

    def create_sessions(self, count: int) -> None:
        for number in range(count):
            session_id = f"session-{number:05}"
            self.append(session_id, "user", f"hello {number}")
            # Each open session holds connections: 5,000 would run out of descriptors.
            self._open.pop(session_id).close()

    def close(self) -> None:
        for session in self._open.values():
            session.close()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
