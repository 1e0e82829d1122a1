"""Our conversation stores on Redis and PostgreSQL, without the bounds that a service sets."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from . import cloning
from .base import Message, Peer, clean_room, server

_AT_ONCE = 50


class InRedis(Peer):
    """RedisConversationStore."""

    name = "cortext on Redis"
    distribution = "cortext-sessions"
    imports = "from cortext import RedisConversationStore, Message"
    syncs = True
    place = "redis"
    ours = True
    venv = ""
    no_search = "conversations of a service are not in the full-text index"

    def open(self, folder: str) -> None:
        clean_room(folder)
        import asyncio

        from cortext import Message

        self._loop = asyncio.new_event_loop()
        self._message = Message
        self._store: Any = self._open()
        self._ids: dict[str, str] = {}

    def _open(self) -> Any:
        from cortext import RedisConversationStore

        return RedisConversationStore(server(), window=None, ttl=None, max_conversations=None)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)

    def _id(self, session_id: str) -> str:
        """The conversation that is this owner's: another process knows no more of it than that."""
        id = self._ids.get(session_id)
        if id is None:
            found = self._run(self._store.list(owner=session_id, limit=1))
            id = found[0].id if found else self._run(self._store.create(owner=session_id))
            self._ids[session_id] = id
        return id

    def append(self, session_id: str, role: Any, content: str) -> None:
        self._run(self._store.add_message(self._id(session_id), self._message(role, content)))

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        id = self._id(session_id)

        async def add(some: Sequence[tuple[Any, str]]) -> None:
            import asyncio

            await asyncio.gather(
                *(self._store.add_message(id, self._message(*each)) for each in some)
            )

        for at in range(0, len(messages), _AT_ONCE):
            self._run(add(messages[at : at + _AT_ONCE]))

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        return self._run(self._store.get_history(self._id(session_id), n))

    def load(self, session_id: str) -> Sequence[Any]:
        return self._run(self._store.get_history(self._id(session_id)))

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._run(self._store.list(limit=n))

    def close(self) -> None:
        self._run(self._store.aclose())
        self._loop.close()


class InPostgres(InRedis):
    """PostgresConversationStore."""

    name = "cortext on PostgreSQL"
    imports = "from cortext import open_store, Message"
    place = "postgres"

    def _open(self) -> Any:
        from cortext import open_store

        return open_store(server(), window=None)

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        import psycopg

        role, content = messages[0]
        self.append(session_id, role, content)
        count, id = len(messages) - 1, self._id(session_id)
        if not count:
            return
        last = f"(SELECT max(number) FROM cortext.messages WHERE conversation = '{id}')"
        cloning.in_postgres(
            server(),
            "cortext.messages",
            count,
            f"conversation = '{id}' AND number = {last}",
            {"number": "number + n", "id": "id || '-' || n"},
        )
        with psycopg.connect(server()) as db:
            db.execute(
                "UPDATE cortext.service.stores SET last_number = last_number + %s WHERE id = %s",
                (count, id),
            )
