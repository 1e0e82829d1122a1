"""agno: SqliteDb, a message being a completed run of one message."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

from .base import Peer, clean_room

AGENT = "bench"


class Agno(Peer):
    name = "agno SqliteDb"
    distribution = "agno"
    imports = "from agno.db.sqlite import SqliteDb"
    syncs = True  # 20 fdatasync of the WAL for 20 appends: WAL, synchronous left at FULL

    def open(self, folder: str) -> None:
        clean_room(folder)
        from uuid import uuid4

        from agno.db.base import SessionType
        from agno.db.sqlite import SqliteDb
        from agno.models.message import Message
        from agno.run.agent import RunOutput
        from agno.run.base import RunStatus
        from agno.session import AgentSession

        self._session_class, self._run_class, self._message = AgentSession, RunOutput, Message
        self._type, self._completed = SessionType.AGENT, RunStatus.completed
        self._db = SqliteDb(db_file=f"{folder}/agno.db")
        self._new_id = uuid4
        self._known: set[str] = set()

    def append(self, session_id: str, role: str, content: str) -> None:
        if session_id not in self._known:
            self._db.upsert_session(self._session_class(session_id=session_id, agent_id=AGENT))
            self._known.add(session_id)
        run = self._run_class(
            run_id=str(self._new_id()),
            agent_id=AGENT,
            session_id=session_id,
            messages=[self._message(role=role, content=content)],
            status=self._completed,
        )
        # An Agent also rewrites the session row after each run, but its run holds question and
        # answer: one transaction per message either way.
        self._db.upsert_run(run, session_id)

    def last(self, session_id: str, n: int) -> list[Any]:
        session = self._db.get_session(session_id, self._type, runs_limit=n)
        return session.get_messages(limit=n)

    def load(self, session_id: str) -> list[Any]:
        return self._db.get_session(session_id, self._type).get_messages()

    def create_sessions(self, count: int) -> None:
        # Times are whole seconds: without its own each, the newest would be a matter of chance.
        sessions = [
            self._session_class(
                session_id=f"session-{number:05}",
                agent_id=AGENT,
                created_at=number + 1,
                updated_at=number + 1,
            )
            for number in range(count)
        ]
        self._db.upsert_sessions(sessions, preserve_updated_at=True)

    def newest(self, n: int) -> list[Any] | None:
        return self._db.get_sessions(
            session_type=self._type,
            limit=n,
            sort_by="updated_at",
            sort_order="desc",
            include_runs=False,
        )

    def close(self) -> None:
        self._db.close()
