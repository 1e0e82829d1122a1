"""google-adk: SqliteSessionService, a message being an Event with text content."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from .base import Peer, clean_room

OWNER = {"app_name": "bench", "user_id": "bench"}


class GoogleAdk(Peer):
    name = "google-adk SqliteSessionService"
    distribution = "google-adk"
    imports = "from google.adk.sessions.sqlite_session_service import SqliteSessionService"
    # 80 fdatasync for 20 appends (journal twice, database, folder): rollback journal at FULL,
    # and a new connection for every call.
    syncs = True

    def open(self, folder: str) -> None:
        clean_room(folder)
        import asyncio

        from google.adk.errors.already_exists_error import AlreadyExistsError
        from google.adk.events.event import Event
        from google.adk.sessions.base_session_service import GetSessionConfig
        from google.adk.sessions.sqlite_session_service import SqliteSessionService
        from google.genai.types import Content, Part

        self._loop = asyncio.new_event_loop()
        self._exists = AlreadyExistsError
        self._event, self._content, self._part = Event, Content, Part
        self._config = GetSessionConfig
        self._service = SqliteSessionService(f"{folder}/sessions.db")
        self._open: dict[str, Any] = {}

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _get(self, session_id: str, n: int | None) -> Any:
        config = None if n is None else self._config(num_recent_events=n)
        return self._run(self._service.get_session(**OWNER, session_id=session_id, config=config))

    def _session(self, session_id: str) -> Any:
        session = self._open.get(session_id)
        if session is None:
            # No events: the service appends without them, and reading them would not be its cost.
            session = self._get(session_id, 0)
            if session is None:
                try:
                    session = self._run(
                        self._service.create_session(**OWNER, session_id=session_id)
                    )
                except self._exists:  # another process was first
                    session = self._get(session_id, 0)
            self._open[session_id] = session
        return session

    def append(self, session_id: str, role: str, content: str) -> None:
        session = self._session(session_id)
        event = self._event(
            author=role, content=self._content(role=role, parts=[self._part(text=content)])
        )
        try:
            self._run(self._service.append_event(session, event))
        except Exception:
            # The service refuses a session another process has written to since. The refusal is
            # the caller's to count; the next append gets a fresh copy, or all would be refused.
            del self._open[session_id]
            raise

    def last(self, session_id: str, n: int) -> list[Any]:
        return self._get(session_id, n).events

    def load(self, session_id: str) -> list[Any]:
        return self._get(session_id, None).events

    def create_sessions(self, count: int) -> None:
        # Without a message each: its listing does not look at events, and this halves the time.
        for number in range(count):
            self._session(f"session-{number:05}")

    def newest(self, n: int) -> list[Any] | None:
        # It lists everything, oldest first, and takes no limit.
        listed = self._run(self._service.list_sessions(**OWNER)).sessions
        return listed[: -n - 1 : -1]

    def close(self) -> None:
        self._run(self._service.close())
        self._loop.close()
