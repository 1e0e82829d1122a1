"""Subscriptions to the events of conversations in PostgreSQL.

A *follower* is a subscription of a caller in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from cortext.errors import CortextError
from cortext.model import json_codec, record_dicts
from cortext.model.ids import new_id
from cortext.service.stores.conversation_events import Hub, Kind, StoreSubscription
from cortext.service.stores.conversation_json import decode_message
from cortext.service.stores.port import Message
from cortext.service.stores.postgres.conversation_tables import Statements
from cortext.service.stores.postgres.postgres_pool import PostgresPool

log: logging.Logger = logging.getLogger("cortext.conversations")

_LISTEN = 3.0
_PAUSE = 0.2


class _Notice(msgspec.Struct, rename="camel"):
    """The decoded payload of a PostgreSQL notification about one change of a conversation.

    If a message is too long for a notification, `number` is its number in the table of messages.
    """

    kind: Kind
    id: str
    message: Message | None = None
    number: int | None = None


_notices = msgspec.json.Decoder(_Notice)


class PostgresListener:
    """The one connection that receives events for all followers of a store in this process.

    The connection is open while there are followers. If it is lost, a warning says that events were
    lost, and a new connection is opened soon.

    A follower receives no events from before it joined. For that, the listener sends itself a
    notification with a new id, the mark. Notifications arrive in the order of their commits, so the
    follower is added when the mark arrives.
    """

    def __init__(self, linked: Callable[[], PostgresPool], sql: Statements) -> None:
        self.hub: Hub = Hub()
        self._linked = linked
        self._sql = sql
        self._marks = f"cortext_{new_id().replace('-', '')}"
        self._waiting: dict[str, _Joining] = {}
        self._connection: Any = None
        self._connecting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, follower: PostgresFollowing) -> None:
        """Add a follower, and return when it receives events.

        SessionStorageError is raised if the server does not answer in time.
        """
        link = self._linked()
        mark, joining = new_id(), _Joining(self.hub, follower)
        self._waiting[mark] = joining
        try:
            if not await self._connect():
                await link.rows(self._sql.mark, channel=self._marks, mark=mark)
            async with asyncio.timeout(link.timeout):
                await joining.done.wait()
        except TimeoutError as error:
            raise link.no_answer(error) from None
        finally:
            self._waiting.pop(mark, None)
            self._rest()

    def leave(self, follower: PostgresFollowing) -> None:
        self.hub.leave(follower)
        self._rest()

    async def aclose(self) -> None:
        self.hub.end()
        task = self._stop()
        if task is not None:
            await asyncio.wait([task])

    def drop(self) -> None:
        """Forget the connection and all followers, because the store has a new event loop."""
        self._connection = self._task = None
        self._connecting = asyncio.Lock()
        self._waiting.clear()
        self.hub.followers.clear()

    async def _connect(self) -> bool:
        """Open the connection if it is not open. Return whether it was opened.

        All followers that wait to join are added at once, because a new connection receives no
        earlier events.
        """
        async with self._connecting:
            if self._connection is not None:
                return False
            statement = f'{self._sql.listen}; listen "{self._marks}"'
            self._connection = await self._linked().listener(statement)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._listen())
        for joining in self._waiting.values():
            joining.let_in()
        return True

    def _rest(self) -> None:
        """Close the connection if the store has no followers."""
        if not self.hub.followers and not self._waiting:
            self._stop()

    def _stop(self) -> asyncio.Task[None] | None:
        task, self._task = self._task, None
        connection, self._connection = self._connection, None
        if task is not None:
            if connection is not None:
                # Close it after the task has ended, because the task waits on the socket.
                task.add_done_callback(lambda _: connection.pgconn.finish())
            task.cancel()
        return task

    async def _listen(self) -> None:
        while True:
            lost = await self._hear(self._connection)
            if lost:
                log.warning("events were lost with the connection to PostgreSQL: %s", lost)
                connection, self._connection = self._connection, None
                connection.pgconn.finish()
                await self._connect_anew()

    async def _connect_anew(self) -> None:
        while self._connection is None:
            await asyncio.sleep(_PAUSE)
            try:
                await self._connect()
            except CortextError as error:
                log.warning("no events: %s", error)

    async def _hear(self, connection: Any) -> str:
        """Wait for a notification and pass it to its followers. After a silence, check the server.

        Return "", or the reason if the connection is lost.
        """
        from psycopg import Error

        heard = False
        try:
            async for notice in connection.notifies(timeout=_LISTEN, stop_after=1):
                heard = True
                await self._note(notice.channel, notice.payload)
            if heard or await self._linked().is_well(connection):
                return ""
        except Error as error:
            return str(error)
        return "it does not answer"

    async def _note(self, channel: str, payload: str) -> None:
        if channel == self._marks:
            if joining := self._waiting.get(payload):
                joining.let_in()
            return
        try:
            notice = _decoded(payload.encode())
        except ValueError as error:
            log.warning("not an event of conversations: %s", error)
            return
        if not self.hub.has_followers(notice.id):
            return
        message = notice.message
        if notice.number is not None:
            message = await self._fetched(notice.id, notice.number)
            if message is None:
                return
        self.hub.tell(notice.kind, notice.id, message)

    async def _fetched(self, id: str, number: int) -> Message | None:
        """Read a message that was too long for its notification from the table.

        Return None if the message was deleted or cannot be read.
        """
        while True:
            try:
                found = await self._linked().rows(self._sql.message, id=id, number=number)
                break
            except CortextError as error:
                # The message is in the table, so try again until the server is back.
                log.warning("an event is late: %s", error)
                await asyncio.sleep(_PAUSE)
        if not found:
            # The message was deleted; the event of that follows.
            return None
        try:
            return decode_message(found[0][0].encode())
        except ValueError as error:
            log.warning("a message of conversation %s cannot be read: %s", id, error)
            return None


class PostgresFollowing(StoreSubscription):
    """A subscription to the events of any process, which the PostgreSQL server sends.

    All subscriptions of a store share the connection of its PostgresListener.
    """

    def __init__(self, listening: PostgresListener, id: str | None) -> None:
        super().__init__(listening.hub, id)
        self._listening = listening

    async def start(self) -> None:
        self._begin()
        await self._listening.join(self)

    async def stop(self) -> None:
        self._listening.leave(self)
        self.end()


class _Joining:
    """A follower that waits to join until no earlier event can arrive any more.

    `done` is set when the follower has joined.
    """

    def __init__(self, hub: Hub, follower: PostgresFollowing) -> None:
        self._hub = hub
        self._follower = follower
        self.done = asyncio.Event()

    def let_in(self) -> None:
        if not self.done.is_set():
            self._hub.join(self._follower)
            self.done.set()


def _decoded(data: bytes) -> _Notice:
    try:
        return _notices.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Lone surrogates are written as escapes, which the fast decoder refuses.
        return record_dicts.convert(record_dicts.as_dict(json_codec.decode(data)), _Notice)
