"""Following the conversations of a PostgreSQL database."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from cortext.conversations.events import Event, Kind, Subscription
from cortext.conversations.port import Message
from cortext.conversations.postgres_link import Link
from cortext.conversations.postgres_tables import Statements
from cortext.conversations.wire import decode_message
from cortext.errors import SessionStorageError
from cortext.model import json, wire

log = logging.getLogger("cortext.conversations")

_LISTEN = 3.0
_PAUSE = 0.2


class _Notice(msgspec.Struct, rename="camel"):
    """What is told in a notification. Those are short: a long message is told by its number."""

    kind: Kind
    id: str
    message: Message | None = None
    number: int | None = None


_notices = msgspec.json.Decoder(_Notice)


class PostgresFollowing(Subscription):
    """Events that the server notifies of, on a connection of its own."""

    def __init__(self, linked: Callable[[], Link], sql: Statements, id: str | None) -> None:
        self._linked = linked
        self._sql = sql
        self._id = id
        self._connection: Any = None
        self._waiting: deque[_Notice] = deque()

    async def start(self) -> None:
        self._connection = await self._linked().listener(self._sql.listen)

    async def stop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def __anext__(self) -> Event:
        while True:
            while self._waiting:
                event = await self._event(self._waiting[0])
                self._waiting.popleft()
                if event is not None:
                    return event
            await self._hear()

    async def _hear(self) -> None:
        """Wait for notices; after a while without any, see whether the server is there."""
        from psycopg import Error

        try:
            async for notice in self._connection.notifies(timeout=_LISTEN, stop_after=1):
                self._note(notice.payload)
            if self._waiting or await self._linked().is_well(self._connection):
                return
            log.warning("events were lost: PostgreSQL does not answer")
        except Error as error:
            log.warning("events were lost with the connection to PostgreSQL: %s", error)
        await self._begin_anew()

    def _note(self, payload: str) -> None:
        try:
            notice = _decoded(payload.encode())
        except ValueError as error:
            log.warning("not an event of conversations: %s", error)
            return
        if self._id in (None, notice.id):
            self._waiting.append(notice)

    async def _event(self, notice: _Notice) -> Event | None:
        if notice.number is None:
            return Event(notice.kind, notice.id, notice.message)
        found = await self._linked().rows(self._sql.message, id=notice.id, number=notice.number)
        if not found:
            # Deleted since; the notice of that follows.
            return None
        try:
            return Event(notice.kind, notice.id, decode_message(found[0][0].encode()))
        except ValueError as error:
            log.warning("a message of conversation %s cannot be read: %s", notice.id, error)
            return None

    async def _begin_anew(self) -> None:
        self._connection.pgconn.finish()
        while True:
            await asyncio.sleep(_PAUSE)
            try:
                return await self.start()
            except SessionStorageError as error:
                log.warning("no events: %s", error)


def _decoded(data: bytes) -> _Notice:
    try:
        return _notices.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half characters are written as escapes, which the fast decoder refuses.
        return wire.convert(wire.as_dict(json.decode(data)), _Notice)
