"""agno: its databases, a message being a completed run of one message."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from . import cloning
from .base import Message, Peer, clean_room, server

AGENT = "bench"
_SCHEMA = "ai"


class Agno(Peer):
    """SqliteDb."""

    name = "agno SqliteDb"
    distribution = "agno"
    imports = "from agno.db.sqlite import SqliteDb"
    syncs = True  # 20 fdatasync of the WAL for 20 appends: WAL, synchronous left at FULL

    def open(self, folder: str) -> None:
        clean_room(folder)
        from uuid import uuid4

        from agno.db.base import SessionType
        from agno.models.message import Message
        from agno.run.agent import RunOutput
        from agno.run.base import RunStatus
        from agno.session import AgentSession

        self._session_class, self._run_class, self._message = AgentSession, RunOutput, Message
        self._type, self._completed = SessionType.AGENT, RunStatus.completed
        self._new_id = uuid4
        self._known: set[str] = set()
        self._db: Any = self._database(folder)

    def _database(self, folder: str) -> Any:
        from agno.db.sqlite import SqliteDb

        self._path = f"{folder}/agno.db"
        return SqliteDb(db_file=self._path)

    def append(self, session_id: str, role: str, content: str) -> None:
        if session_id not in self._known:
            # As an Agent makes it: PostgreSQL asks for a time.
            session = self._session_class(
                session_id=session_id, agent_id=AGENT, created_at=int(time.time())
            )
            self._db.upsert_session(session)
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

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        role, content = messages[0]
        self.append(session_id, role, content)
        if len(messages) > 1:
            self._clone(session_id, len(messages) - 1)

    def _highest(self, session_id: str) -> str:
        return f"(SELECT max(run_index) FROM agno_runs WHERE session_id = '{session_id}')"

    def _clone(self, session_id: str, count: int) -> None:
        cloning.in_sqlite(
            self._path,
            "agno_runs",
            count,
            f"session_id = '{session_id}' AND run_index = {self._highest(session_id)}",
            {"run_id": "run_id || '-' || n", "run_index": "run_index + n"},
        )

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        session = self._db.get_session(session_id, self._type, runs_limit=n)
        return session.get_messages(limit=n)

    def load(self, session_id: str) -> Sequence[Any]:
        return self._db.get_session(session_id, self._type).get_messages()

    def create_session(self, number: int) -> None:
        # Times are whole seconds: without its own each, the newest would be a matter of chance.
        session = self._session_class(
            session_id=f"session-{number:05}",
            agent_id=AGENT,
            created_at=number + 1,
            updated_at=number + 1,
        )
        self._db.upsert_sessions([session], preserve_updated_at=True)

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._db.get_sessions(
            session_type=self._type,
            limit=n,
            sort_by="updated_at",
            sort_order="desc",
            include_runs=False,
        )

    def close(self) -> None:
        self._db.close()


class InPostgres(Agno):
    """PostgresDb."""

    name = "agno PostgresDb"
    imports = "from agno.db.postgres import PostgresDb"
    place = "postgres"

    def _database(self, folder: str) -> Any:
        from agno.db.postgres import PostgresDb

        url = server().replace("postgresql:", "postgresql+psycopg:")
        return PostgresDb(db_url=url, db_schema=_SCHEMA)

    def _highest(self, session_id: str) -> str:
        return f"(SELECT max(run_index) FROM {_SCHEMA}.agno_runs WHERE session_id = '{session_id}')"

    def _clone(self, session_id: str, count: int) -> None:
        cloning.in_postgres(
            server(),
            f"{_SCHEMA}.agno_runs",
            count,
            f"session_id = '{session_id}' AND run_index = {self._highest(session_id)}",
            {"run_id": "run_id || '-' || n", "run_index": "run_index + n"},
        )


class InRedis(Agno):
    """RedisDb."""

    name = "agno RedisDb"
    imports = "from agno.db.redis import RedisDb"
    place = "redis"

    def _database(self, folder: str) -> Any:
        from agno.db.redis import RedisDb

        return RedisDb(db_url=server())

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        for role, content in messages:
            self.append(session_id, role, content)

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._db.get_sessions(
            session_type=self._type, limit=n, sort_by="updated_at", sort_order="desc"
        )

    def close(self) -> None:
        self._db.redis_client.close()
