"""openai-agents: its sessions in SQLite, Redis and PostgreSQL, one object per session; and ours in
the same slot."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from .base import Message, Peer, clean_room, server


class OpenAIAgents(Peer):
    """SQLiteSession, over a shared file."""

    name = "openai-agents SQLiteSession"
    distribution = "openai-agents"
    imports = "from agents import SQLiteSession"
    syncs = True  # 20 fdatasync of the WAL for 20 appends: WAL, synchronous left at FULL

    def open(self, folder: str) -> None:
        clean_room(folder)
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._open: dict[str, Any] = {}
        self._prepare(folder)

    def _prepare(self, folder: str) -> None:
        from agents import SQLiteSession

        self._make = lambda id: SQLiteSession(id, f"{folder}/sessions.db")

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _session(self, session_id: str) -> Any:
        session = self._open.get(session_id)
        if session is None:
            session = self._open[session_id] = self._make(session_id)
        return session

    def append(self, session_id: str, role: str, content: str) -> None:
        item = {"role": role, "content": content}
        self._run(self._session(session_id).add_items([item]))

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        items = [{"role": role, "content": content} for role, content in messages]
        self._run(self._session(session_id).add_items(items))

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        return self._run(self._session(session_id).get_items(limit=n))

    def load(self, session_id: str) -> Sequence[Any]:
        return self._run(self._session(session_id).get_items())

    def create_session(self, number: int) -> None:
        super().create_session(number)
        # Each open session holds connections: thousands would run out of descriptors.
        self._end(self._open.pop(f"session-{number:05}"))

    def _end(self, session: Any) -> None:
        session.close()

    def close(self) -> None:
        for session in self._open.values():
            self._end(session)
        self._run(self._loop.shutdown_default_executor())
        self._loop.close()


class InRedis(OpenAIAgents):
    """RedisSession, all of them over one client."""

    name = "openai-agents RedisSession"
    imports = "from agents.extensions.memory import RedisSession"
    place = "redis"

    def _prepare(self, folder: str) -> None:
        from agents.extensions.memory import RedisSession
        from redis.asyncio import Redis

        self._client = Redis.from_url(server())
        self._make = lambda id: RedisSession(id, redis_client=self._client)

    def _end(self, session: Any) -> None:
        """The client is shared."""

    def close(self) -> None:
        self._run(self._client.aclose())
        super().close()


class InPostgres(OpenAIAgents):
    """SQLAlchemySession with asyncpg, as its documentation has it, over one engine."""

    name = "openai-agents SQLAlchemySession"
    imports = "from agents.extensions.memory import SQLAlchemySession"
    place = "postgres"

    def _prepare(self, folder: str) -> None:
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy.ext.asyncio import create_async_engine

        url = server().replace("postgresql:", "postgresql+asyncpg:")
        self._engine = create_async_engine(url)
        self._make = lambda id: SQLAlchemySession(id, engine=self._engine, create_tables=True)

    def _end(self, session: Any) -> None:
        """The engine is shared."""

    def close(self) -> None:
        self._run(self._engine.dispose())
        super().close()


class Ours(OpenAIAgents):
    """Our adapter, a log for each session: what a program has after it changed one import."""

    name = "cortext in openai-agents"
    distribution = "cortext-sessions"
    imports = "from cortext.adapters.openai_agents import CortextSession"
    ours = True
    replaces = "openai-agents"
    no_search = "measured once, with the log"

    def _prepare(self, folder: str) -> None:
        from cortext.adapters.openai_agents import CortextSession

        self._where, self._session_class = self._place(folder), CortextSession
        self._make = lambda id: CortextSession(id, self._where)

    def _place(self, folder: str) -> str:
        return f"{folder}/sessions"

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._run(self._session_class.list_sessions(self._where, limit=n))


class OursInRedis(Ours):
    """The same with the URL of a server."""

    name = "cortext in openai-agents on Redis"
    place = "redis"
    replaces = "openai-agents-redis"
    no_search = "sessions on a server are not in the full-text index"

    def _place(self, folder: str) -> str:
        return server()


class OursInPostgres(OursInRedis):
    """The same again."""

    name = "cortext in openai-agents on PostgreSQL"
    place = "postgres"
    replaces = "openai-agents-postgres"
