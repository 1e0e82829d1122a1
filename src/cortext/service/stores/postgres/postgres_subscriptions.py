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
from cortext.model import json_codec, message_dicts
from cortext.model.ids import new_id
from cortext.service.stores.conversation_events import Hub, Kind, StoreSubscription
from cortext.service.stores.conversation_json import decode_message
from cortext.service.stores.port import Message
from cortext.service.stores.postgres.conversation_sql import Statements
from cortext.service.stores.postgres.postgres_pool import PostgresPool

log: logging.Logger = logging.getLogger("cortext.conversations")

_READ_TIMEOUT = 3.0
"""Seconds without a notification after which the listener checks whether the server answers."""
_RETRY_PAUSE = 0.2


class _Notice(msgspec.Struct, rename="camel"):
    """The content of a PostgreSQL notification, which reports one change of a conversation.

    If the message is too long for a notification, `message` is None, and `number` is the number of
    the message in the table of messages.
    """

    kind: Kind
    id: str
    message: Message | None = None
    number: int | None = None


_notice_decoder = msgspec.json.Decoder(_Notice)


class PostgresListener:
    """The connection on which a store receives events for all followers in this process.

    A follower is a subscription. The connection is open while there are followers. If it is lost, a
    warning is logged because events may be missed, and a new connection is opened soon.

    A follower must not receive events from before it joined. So when a follower joins, the listener
    sends itself a notification with a new id, the mark. Notifications arrive in the order of their
    commits. When the mark has arrived, all earlier events have arrived too, and the follower is
    added.

    `pool_for_loop` returns the pool for the running event loop.
    """

    def __init__(self, pool_for_loop: Callable[[], PostgresPool], sql: Statements) -> None:
        self.hub: Hub = Hub()
        self._pool_for_loop = pool_for_loop
        self._sql = sql
        self._mark_channel = f"cortext_{new_id().replace('-', '')}"
        self._pending: dict[str, _PendingFollower] = {}
        self._connection: Any = None
        self._connecting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, follower: PostgresFollowing) -> None:
        """Add a follower (a subscription). It receives every event after this call.

        SessionStorageError is raised if the server does not answer in time.
        """
        pool = self._pool_for_loop()
        mark, pending = new_id(), _PendingFollower(self.hub, follower)
        self._pending[mark] = pending
        try:
            if not await self._connect():
                await pool.rows(self._sql.mark, channel=self._mark_channel, mark=mark)
            async with asyncio.timeout(pool.timeout):
                await pending.done.wait()
        except TimeoutError as error:
            raise pool.no_answer(error) from None
        finally:
            self._pending.pop(mark, None)
            self._close_if_unused()

    def leave(self, follower: PostgresFollowing) -> None:
        self.hub.leave(follower)
        self._close_if_unused()

    async def aclose(self) -> None:
        self.hub.end()
        task = self._stop()
        if task is not None:
            await asyncio.wait([task])

    def drop(self) -> None:
        """Forget the connection and all followers, because there is a new event loop."""
        self._connection = self._task = None
        self._connecting = asyncio.Lock()
        self._pending.clear()
        self.hub.followers.clear()

    async def _connect(self) -> bool:
        """Open the connection if it is not open, and return whether it was opened.

        A new connection receives no earlier events. So all followers that wait to join are added at
        once.
        """
        async with self._connecting:
            if self._connection is not None:
                return False
            statement = f'{self._sql.listen}; listen "{self._mark_channel}"'
            self._connection = await self._pool_for_loop().listener(statement)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._listen())
        for pending in self._pending.values():
            pending.add_to_hub()
        return True

    def _close_if_unused(self) -> None:
        """Close the connection if there are no followers."""
        if not self.hub.followers and not self._pending:
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
            lost = await self._read_notice(self._connection)
            if lost:
                log.warning("events were lost with the connection to PostgreSQL: %s", lost)
                connection, self._connection = self._connection, None
                connection.pgconn.finish()
                await self._reconnect()

    async def _reconnect(self) -> None:
        while self._connection is None:
            await asyncio.sleep(_RETRY_PAUSE)
            try:
                await self._connect()
            except CortextError as error:
                log.warning("no events: %s", error)

    async def _read_notice(self, connection: Any) -> str:
        """Wait for a notification, and pass it to the followers of its conversation.

        If no notification arrives for a while, check whether the server still answers. Return "" if
        the connection works. If it is lost, return the reason.
        """
        from psycopg import Error

        has_notice = False
        try:
            async for notice in connection.notifies(timeout=_READ_TIMEOUT, stop_after=1):
                has_notice = True
                await self._handle_notice(notice.channel, notice.payload)
            if has_notice or await self._pool_for_loop().is_well(connection):
                return ""
        except Error as error:
            return str(error)
        return "the server does not answer"

    async def _handle_notice(self, channel: str, payload: str) -> None:
        if channel == self._mark_channel:
            if pending := self._pending.get(payload):
                pending.add_to_hub()
            return
        try:
            notice = _decode_notice(payload.encode())
        except ValueError as error:
            log.warning("not a conversation event: %s", error)
            return
        if not self.hub.has_followers(notice.id):
            return
        message = notice.message
        if notice.number is not None:
            message = await self._fetch_message(notice.id, notice.number)
            if message is None:
                return
        self.hub.tell(notice.kind, notice.id, message)

    async def _fetch_message(self, id: str, number: int) -> Message | None:
        """Read a message from the table, because it was too long for its notification.

        Return None if the message was deleted or cannot be read.
        """
        while True:
            try:
                rows = await self._pool_for_loop().rows(self._sql.message, id=id, number=number)
                break
            except CortextError as error:
                # The message is in the table, so try again until the server is back.
                log.warning("an event is late: %s", error)
                await asyncio.sleep(_RETRY_PAUSE)
        if not rows:
            # The message was deleted, and the event of the deletion follows.
            return None
        try:
            return decode_message(rows[0][0].encode())
        except ValueError as error:
            log.warning("a message of conversation %s cannot be read: %s", id, error)
            return None


class PostgresFollowing(StoreSubscription):
    """A subscription to the events that any process causes in the store.

    All subscriptions of a store share the connection of its PostgresListener.
    """

    def __init__(self, listener: PostgresListener, id: str | None) -> None:
        super().__init__(listener.hub, id)
        self._listener = listener

    async def start(self) -> None:
        self._open_queue()
        await self._listener.join(self)

    async def stop(self) -> None:
        self._listener.leave(self)
        self.end()


class _PendingFollower:
    """A follower (a subscription) that waits to be added, because earlier events may still arrive.

    `done` is set as soon as the follower is added.
    """

    def __init__(self, hub: Hub, follower: PostgresFollowing) -> None:
        self._hub = hub
        self._follower = follower
        self.done = asyncio.Event()

    def add_to_hub(self) -> None:
        if not self.done.is_set():
            self._hub.join(self._follower)
            self.done.set()


def _decode_notice(data: bytes) -> _Notice:
    try:
        return _notice_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Lone surrogates are written as escapes, which the fast decoder refuses.
        return message_dicts.convert(message_dicts.as_dict(json_codec.decode(data)), _Notice)
