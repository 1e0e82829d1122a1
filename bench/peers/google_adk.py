"""google-adk: its session services, a message being an Event with text content."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from . import cloning
from .base import Message, Peer, clean_room, server

OWNER = {"app_name": "bench", "user_id": "bench"}


class GoogleAdk(Peer):
    """SqliteSessionService."""

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
        from google.genai.types import Content, Part

        self._loop = asyncio.new_event_loop()
        self._exists = AlreadyExistsError
        self._event, self._content, self._part = Event, Content, Part
        self._config = GetSessionConfig
        self._service: Any = self._make(folder)
        self._open: dict[str, Any] = {}

    def _make(self, folder: str) -> Any:
        from google.adk.sessions.sqlite_session_service import SqliteSessionService

        self._path = f"{folder}/sessions.db"
        return SqliteSessionService(self._path)

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

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        role, content = messages[0]
        self.append(session_id, role, content)
        if len(messages) > 1:
            self._clone(session_id, len(messages) - 1)

    def _clone(self, session_id: str, count: int) -> None:
        newest = f"(SELECT max(timestamp) FROM events WHERE session_id = '{session_id}')"
        cloning.in_sqlite(
            self._path,
            "events",
            count,
            f"session_id = '{session_id}' AND timestamp = {newest}",
            # Before the one that is there, whose time its session also has.
            {"id": "id || '-' || n", "timestamp": "timestamp - n * 1e-6"},
        )

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        return self._get(session_id, n).events

    def load(self, session_id: str) -> Sequence[Any]:
        return self._get(session_id, None).events

    def create_session(self, number: int) -> None:
        # Without a message: its listing does not look at events, and this halves the time.
        self._session(f"session-{number:05}")

    def newest(self, n: int) -> Sequence[Any] | None:
        # It lists everything, oldest first, and takes no limit.
        listed = self._run(self._service.list_sessions(**OWNER)).sessions
        return listed[: -n - 1 : -1]

    def close(self) -> None:
        self._run(self._service.close())
        self._loop.close()


class Ours(GoogleAdk):
    """Our adapter as the service."""

    name = "cortext in google-adk"
    distribution = "cortext-sessions"
    imports = "from cortext.adapters.google_adk import CortextSessionService"
    syncs = True  # 20 fdatasync for 20 appends
    ours = True
    replaces = "google-adk"
    no_search = "measured once, with the log"

    def _make(self, folder: str) -> Any:
        from cortext.adapters.google_adk import CortextSessionService

        self._path = f"{folder}/sessions"
        return CortextSessionService(self._path)

    def _clone(self, session_id: str, count: int) -> None:
        from cortext import SessionMessage, open_session_store
        from cortext.adapters.session_log import id_of

        store = open_session_store(f"log:{self._path}")
        id = id_of(*OWNER.values(), session_id)
        [last] = store.tail(id, 1)
        event = last.extra["google_adk"]
        ids = [f"{last.id}-{n}" for n in range(count)]
        copies = [
            SessionMessage(
                last.role,
                last.content,
                timestamp=last.timestamp,
                id=new,
                extra={"google_adk": {**event, "id": new}},
            )
            for new in ids
        ]
        store.append(id, *copies)
        store.close()


class InPostgres(GoogleAdk):
    """DatabaseSessionService with asyncpg."""

    name = "google-adk DatabaseSessionService"
    imports = "from google.adk.sessions.database_session_service import DatabaseSessionService"
    place = "postgres"

    def _make(self, folder: str) -> Any:
        from google.adk.sessions.database_session_service import DatabaseSessionService

        return DatabaseSessionService(server().replace("postgresql:", "postgresql+asyncpg:"))

    def _clone(self, session_id: str, count: int) -> None:
        newest = f"(SELECT max(timestamp) FROM events WHERE session_id = '{session_id}')"
        cloning.in_postgres(
            server(),
            "events",
            count,
            f"session_id = '{session_id}' AND timestamp = {newest}",
            # Before the one that is there, whose time its session also has.
            {"id": "id || '-' || n", "timestamp": "timestamp - n * interval '1 microsecond'"},
        )
