"""The conversation store in PostgreSQL. Any number of processes may use the same store.

When `add_message` returns, the message is durable. The table contains every message. The window
limits only the messages that are returned. By default, conversations do not expire and their number
is not limited.
"""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Mapping
from typing import Any

from cortext.errors import CortextError, SessionCorruptedError
from cortext.model import json_codec
from cortext.model.ids import check_id, new_id
from cortext.model.json_values import as_utc
from cortext.service.stores.base import (
    Conversations,
    check_list_owner,
    check_message,
    check_owner,
    not_found,
)
from cortext.service.stores.conversation_json import decode_message, decode_object, encode_message
from cortext.service.stores.delayed_task import LONGEST_SLEEP, Alarm
from cortext.service.stores.metadata import copied, merged
from cortext.service.stores.port import (
    WINDOW,
    Conversation,
    ConversationEntry,
    Message,
    Messages,
)
from cortext.service.stores.postgres.conversation_sql import Statements
from cortext.service.stores.postgres.postgres_pool import PostgresPool
from cortext.service.stores.postgres.postgres_subscriptions import (
    PostgresFollowing,
    PostgresListener,
)
from cortext.service.stores.store_size_log import StoreUsage, UsageLog, UsageMeter

log: logging.Logger = logging.getLogger("cortext.conversations")

_MAX_ID_LENGTH = 200


class PostgresConversationStore(Conversations):
    """A conversation store in a PostgreSQL database.

    The tables are in `schema`. The first call creates them.

    A call takes one round trip to the server. `create` with a limit takes two, and so does
    `set_metadata`. The first call that adds or removes a conversation takes one more, to count the
    conversations for the log.
    """

    def __init__(
        self,
        url: str,
        *,
        window: int | None = WINDOW,
        ttl: float | None = None,
        max_conversations: int | None = None,
        schema: str = "cortext",
        timeout: float = 5.0,
    ) -> None:
        self._sql = Statements(schema)
        self._pool = PostgresPool(url, timeout=timeout, schema=schema, with_ttl=ttl is not None)
        super().__init__("postgresql", window=window, ttl=ttl, limit=max_conversations)
        self._alarm = Alarm(self._sweep)
        self._listener = PostgresListener(self._pool_for_loop, self._sql)
        self._usage = UsageMeter(UsageLog("on disk"), self._measure)

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        _check_storable_owner(owner)
        id = new_id()
        encoded_metadata = json_codec.encode(copied(metadata)).decode()
        await self._pool.rows(self._sql.create, id=id, owner=owner, metadata=encoded_metadata)
        log.info("conversation %s created", id)
        evicted = await self._evict()
        if self._ttl is not None:
            self._alarm.set(self._ttl)
        await self._usage.count_changed(1 - evicted)
        return id

    async def _evict(self) -> int:
        """Remove the oldest conversations if there are more than the limit.

        Return how many conversations were removed.
        """
        if self._limit is None:
            return 0
        removed = await self._pool.rows(self._sql.evict, limit=self._limit)
        for id, _ in removed:
            log.warning("more than %d conversations: the oldest, %s, was deleted", self._limit, id)
        return len(removed)

    async def get(self, id: str) -> Conversation | None:
        self._enter()
        rows = await self._fetch_rows(self._sql.get, id, count=self._window)
        if not rows:
            return None
        created, updated, owner, metadata, bodies = rows[0]
        messages = self._decode_messages(id, bodies)
        decoded_metadata = decode_object(metadata.encode())
        return Conversation(id, messages, as_utc(created), as_utc(updated), decoded_metadata, owner)

    async def add_if_new(self, id: str, message: Message) -> bool:
        self._enter()
        message_key = _message_key(check_message(message).id or "")
        body = encode_message(message).decode()
        [(added, exists)] = await self._fetch_rows(
            self._sql.add, id, message=message_key, body=body
        )
        if not added and not exists:
            raise not_found(id)
        self._usage.size_changed()
        return bool(added)

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        self._enter()
        count = self._message_count(limit)
        rows = await self._fetch_rows(self._sql.history, id, count=count)
        return self._decode_messages(id, [body for (body,) in reversed(rows)])

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        self._enter()
        updates = copied(changes)
        # The server cannot merge JSON with lone surrogates, so merge here, and again if another
        # process changed the metadata meanwhile.
        while rows := await self._fetch_rows(self._sql.metadata, id):
            stored: str = rows[0][0]
            metadata = merged(decode_object(stored.encode()), updates)
            encoded = json_codec.encode(metadata).decode()
            if encoded == stored or await self._fetch_rows(
                self._sql.change, id, known=stored, about=encoded
            ):
                return metadata
        raise not_found(id)

    async def delete(self, id: str) -> None:
        self._enter()
        if await self._fetch_rows(self._sql.delete, id):
            log.info("conversation %s deleted", id)
            await self._usage.count_changed(-1)

    def events(self, id: str | None = None) -> PostgresFollowing:
        """Return a subscription to the events that any process causes in this store.

        All subscriptions share one connection. If the connection is lost, the events until the next
        connection are missed, and a warning is logged.
        """
        return PostgresFollowing(self._listener, None if id is None else check_id(id))

    async def aclose(self) -> None:
        await self._alarm.aclose()
        await self._usage.aclose()
        await self._listener.aclose()
        await self._pool.aclose()
        self._loop = None

    def _reset_for_new_loop(self) -> None:
        self._alarm.drop()
        self._usage.drop()
        self._listener.drop()
        self._pool.connect()
        if self._ttl is not None:
            # A random delay, so that processes that start together do not sweep together.
            self._alarm.set(min(1.0, self._ttl) * random.random())  # noqa: S311  no secret

    def _pool_for_loop(self) -> PostgresPool:
        self._enter()
        return self._pool

    async def _measure(self) -> StoreUsage:
        [(count, size)] = await self._pool.rows(self._sql.usage)
        return StoreUsage(count, float(size))

    async def _fetch_rows(self, statement: str, id: str, **values: Any) -> list[tuple[Any, ...]]:
        return await self._pool.rows(statement, id=check_id(id), ttl=self._ttl, **values)

    def _decode_messages(self, id: str, bodies: list[str]) -> Messages:
        try:
            return [decode_message(body.encode()) for body in bodies]
        except ValueError as error:
            raise SessionCorruptedError(
                f"{self._sql.schema}.messages",
                f"conversation {id}: {error}",
                hint="another program wrote to this table",
            ) from None

    async def _sweep(self) -> None:
        """Remove and log the conversations whose TTL has passed, and set the timer again.

        The timer then calls this method at the next deadline.
        """
        delay = LONGEST_SLEEP
        try:
            [(removed, wait)] = await self._pool.rows(self._sql.expire, ttl=self._ttl)
            for id in removed:
                log.info("conversation %s expired after %g s without a message", id, self._ttl)
            if removed:
                await self._usage.count_changed(-len(removed))
            delay = LONGEST_SLEEP if wait is None else max(wait, 0.0)
        except CortextError as error:
            log.warning("idle conversations were not checked: %s", error)
        self._alarm.set(delay)

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_list_owner(owner, below=below)
        self._enter()
        max_entries = self._check_list_limit(limit)
        if owner is not None:
            _check_storable_owner(owner)
        values = {"owner": owner, "below": below, "ttl": self._ttl, "count": max_entries}
        return [
            ConversationEntry(
                id, as_utc(created), as_utc(updated), entry_owner, decode_object(metadata.encode())
            )
            for id, created, updated, entry_owner, metadata in await self._pool.rows(
                self._sql.entries, **values
            )
        ]


def _check_storable_owner(owner: str) -> None:
    check_owner(owner)
    if not _is_storable(owner):
        raise ValueError("owner contains a character that PostgreSQL cannot store")


def _message_key(id: str) -> str:
    """Return the key of a message in the table: its id, or a hash of its id.

    The hash is used if the id is too long or has characters that PostgreSQL cannot store. The JSON
    of the message always contains the id itself.
    """
    if len(id) <= _MAX_ID_LENGTH and _is_storable(id):
        return id
    return "sha256:" + hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def _is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store a text. It cannot store lone surrogates or NULs."""
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text
