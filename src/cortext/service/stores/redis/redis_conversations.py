"""The conversation store on a Redis server or cluster. Any number of processes may use it.

Each conversation has three keys, which expire together:

- `conv:{ID}`: a hash with times, owner and metadata
- `conv:{ID}:messages`: a list of messages
- `conv:{ID}:ids`: a list of message ids

These keys list the ids of conversations:

- `conv:{all}:created`: a sorted set of all conversation ids, by creation time
- `conv:{all}:due`: a sorted set of the ids of conversations that expire, by expiry time
- `conv:{all}:owner`: a hash that maps conversation ids to owners
- `conv:{all}:owner:NAME`: a sorted set of the conversations of the owner `NAME`
- `conv:{all}:below:NAME`: a sorted set of the conversations of all owners named `NAME/...`
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Mapping
from typing import Any

from cortext.clock import from_micros
from cortext.errors import CortextError, SessionCorruptedError
from cortext.model import json_codec
from cortext.model.ids import check_id, new_id
from cortext.service.stores.base import (
    Conversations,
    check_list_owner,
    check_message,
    check_owner,
    not_found,
)
from cortext.service.stores.conversation_json import decode_message, encode_message
from cortext.service.stores.delayed_task import LONGEST_SLEEP, Alarm
from cortext.service.stores.metadata import copied, of_lines
from cortext.service.stores.port import (
    LIMIT,
    TTL,
    WINDOW,
    Conversation,
    ConversationEntry,
    Message,
    Messages,
)
from cortext.service.stores.redis import conversation_lua_scripts as scripts
from cortext.service.stores.redis.redis_client import RedisClient, ReplicationError
from cortext.service.stores.redis.redis_subscriptions import RedisFollowing, RedisListener
from cortext.service.stores.store_size_log import StoreUsage, UsageLog, UsageMeter

log: logging.Logger = logging.getLogger("cortext.conversations")

MIN_STORED_IDS = 100
"""The minimum number of message ids that the server remembers for each conversation.

A message is not added if the server remembers its id.
"""
_PREFIX = re.compile(r"[A-Za-z0-9:._-]+")
_SWEEP_SIZE = 100
"""The maximum number of conversations that one sweep checks."""
_UNLISTED_TTL_MS = 600_000
"""Milliseconds until a new conversation expires if `create` fails before the id is listed."""
_UNDO_WAIT = 0.5
"""Seconds that `aclose` waits for the clean-up after failed calls of `create`."""
_MAX_CHANGES = 20
"""The maximum number of separately stored metadata changes. Above it, they are merged."""
_SAMPLE_SIZE = 20
"""The number of conversations whose memory is measured to estimate the memory of all."""


class RedisConversationStore(Conversations):
    """A conversation store on a Redis server, shared by any number of processes.

    `url_or_client` is a URL or a redis-py client. `aclose` does not close a client that the caller
    passed in.

    The limit counts the conversations of all processes. The number of conversations may exceed the
    limit for a moment while a process creates a conversation.

    With `wait_replicas=N`, `create`, `add_message` and `delete` return only when N replicas have
    the change. They raise ReplicationError if that does not happen in time.

    A call takes one round trip to the server. `create` and `delete` take two, and `create` without
    a TTL takes three. The first call that adds or removes a conversation takes two more, to
    estimate the memory of all conversations for the log.
    """

    def __init__(
        self,
        url_or_client: Any,
        *,
        window: int | None = WINDOW,
        ttl: float | None = TTL,
        max_conversations: int | None = LIMIT,
        prefix: str = "conv",
        timeout: float = 5.0,
        wait_replicas: int = 0,
    ) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(
                f"prefix may have letters, digits, ':', '.', '_' and '-', not {prefix!r}"
            )
        self._client = RedisClient(url_or_client, timeout=timeout, replicas=wait_replicas)
        super().__init__("redis", window=window, ttl=ttl, limit=max_conversations)
        self._prefix = prefix
        self._ttl_ms = 0 if self._ttl is None else max(int(self._ttl * 1000), 1)
        self._index_keys = [
            f"{prefix}:{{all}}:{name}" for name in ("created", "due", "owner", "below")
        ]
        self._alarm = Alarm(self._sweep)
        self._listener = RedisListener(self._client_for_loop, f"{prefix}:events:")
        self._usage = UsageMeter(UsageLog("of memory"), self._measure)
        self._undo_tasks: set[asyncio.Task[None]] = set()

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        check_owner(owner)
        id = new_id()
        encoded_metadata = json_codec.encode(copied(metadata))
        sent = self._client.sent
        try:
            count, oldest = await self._store_new(id, owner, encoded_metadata)
            log.info("conversation %s created", id)
            await self._usage.set_count(count)
        except ReplicationError as error:
            await asyncio.shield(self._start_undo(id))
            raise ReplicationError(error.have, error.wanted, undone=True) from None
        except (Exception, asyncio.CancelledError):
            # Clean up in the background: the caller has already waited for the server.
            if self._client.sent != sent:
                self._start_undo(id)
            raise
        for extra in oldest:
            await self._evict(extra.decode())
        if self._ttl is not None:
            self._alarm.set(self._ttl)
        return id

    async def get(self, id: str) -> Conversation | None:
        self._enter()
        reply = await self._client.run(scripts.GET, self._keys(id)[:2], self._window)
        if not reply:
            return None
        (created, updated, owner, metadata), lines = reply
        return Conversation(
            id,
            self._decode_messages(id, lines),
            from_micros(int(created)),
            from_micros(int(updated)),
            self._decode_metadata(id, metadata or b""),
            _decode_text(owner),
        )

    async def add_if_new(self, id: str, message: Message) -> bool:
        self._enter()
        channel, event = self._event("message", id)
        result = await self._client.write(
            scripts.ADD,
            self._keys(id),
            _encode_text(check_message(message).id or ""),
            encode_message(message),
            self._window,
            max(self._window, MIN_STORED_IDS),
            self._ttl_ms,
            channel,
            # The script adds the message and the closing brace.
            event[:-1] + ',"message":',
        )
        if not result:
            raise not_found(id)
        self._usage.size_changed()
        return result == scripts.ADDED

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        self._enter()
        count, key = self._message_count(limit), self._keys(id)[1]
        if not count:
            return []
        return self._decode_messages(id, await self._client.call("LRANGE", key, -count, -1))

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        self._enter()
        encoded_changes, head = json_codec.encode(copied(changes)), self._keys(id)[:1]
        lines: bytes | None = await self._client.write(scripts.CHANGE, head, encoded_changes)
        if not lines:
            raise not_found(id)
        metadata = self._decode_metadata(id, lines)
        if lines.count(b"\n") > _MAX_CHANGES:
            await self._client.run(scripts.JOIN, head, lines, json_codec.encode(metadata))
        return metadata

    async def delete(self, id: str) -> None:
        self._enter()
        if await self._remove(id):
            log.info("conversation %s deleted", id)
            await self._unlist(id)
        elif self._ttl is None:
            # Another process may have died during a delete. Without a TTL, no sweep removes the id.
            await self._unlist(id)

    def events(self, id: str | None = None) -> RedisFollowing:
        """Return a subscription to the events that any process causes in this store.

        All subscriptions share one connection. If the connection is lost, the events until the next
        connection are missed, and a warning is logged.
        """
        return RedisFollowing(self._listener, None if id is None else check_id(id))

    async def aclose(self) -> None:
        await self._listener.aclose()
        await self._alarm.aclose()
        await self._usage.aclose()
        await self._finish_undo()
        await self._client.aclose()
        self._loop = None

    async def _finish_undo(self) -> None:
        """Wait a short time for the clean-up tasks of failed `create` calls, then cancel the tasks.

        If the server works, the tasks end within this time.
        """
        if self._undo_tasks:
            _, late = await asyncio.wait(
                self._undo_tasks, timeout=min(_UNDO_WAIT, self._client.timeout)
            )
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    def _reset_for_new_loop(self) -> None:
        self._alarm.drop()
        self._usage.drop()
        self._listener.drop()
        self._undo_tasks.clear()
        self._client.connect()
        if self._ttl is not None:
            # A random delay, so that processes that start together do not sweep together.
            self._alarm.set(min(1.0, self._ttl) * random.random())  # noqa: S311  no secret

    async def _measure(self) -> StoreUsage:
        """Count the conversations, and estimate their memory from a random sample."""
        all_ids = self._index_keys[0]
        count, ids = await self._client.each(
            [("ZCARD", all_ids), ("ZRANDMEMBER", all_ids, _SAMPLE_SIZE)]
        )
        keys = [key for id in ids for key in self._keys(id.decode())]
        sizes = await self._client.each([("MEMORY", "USAGE", key) for key in keys], key_at=2)
        mean = sum(size or 0 for size in sizes) / max(len(ids), 1)
        return StoreUsage(count, count * mean)

    def _client_for_loop(self) -> RedisClient:
        self._enter()
        return self._client

    def _keys(self, id: str) -> list[str]:
        key = f"{self._prefix}:{{{check_id(id)}}}"
        return [key, f"{key}:messages", f"{key}:ids"]

    def _event(self, kind: str, id: str) -> tuple[str, str]:
        return f"{self._prefix}:events:{id}", f'{{"kind":"{kind}","id":"{id}"}}'

    def _decode_messages(self, id: str, lines: list[bytes]) -> Messages:
        try:
            return [*map(decode_message, lines)]
        except ValueError as error:
            raise self._corrupted_error(self._keys(id)[1], error) from None

    def _decode_metadata(self, id: str, lines: bytes) -> dict[str, Any]:
        try:
            return of_lines(lines)
        except ValueError as error:
            raise self._corrupted_error(self._keys(id)[0], error) from None

    def _corrupted_error(self, key: str, error: ValueError) -> SessionCorruptedError:
        return SessionCorruptedError(
            key, str(error), hint="another program wrote to this key of Redis"
        )

    async def _store_new(self, id: str, owner: str, metadata: bytes) -> tuple[int, list[bytes]]:
        """Store a new conversation, then add its id to the lists of ids.

        Return the number of conversations. If this number exceeds the limit, also return the ids of
        the oldest conversations, which the caller must remove.

        The conversation is stored first, so that every listed conversation exists.
        """
        head, owner_bytes, event = (
            self._keys(id)[:1],
            _encode_text(owner),
            self._event("created", id),
        )
        # Nobody removes a conversation that is not listed, so at first it always expires.
        ttl_ms = self._ttl_ms or _UNLISTED_TTL_MS
        created = await self._client.write(
            scripts.BEGIN, head, ttl_ms, owner_bytes, metadata, *event
        )
        result = await self._client.write(
            scripts.ADD_TO_LISTS,
            self._index_keys,
            id,
            self._ttl_ms,
            self._limit or 0,
            owner_bytes,
            created,
        )
        if not self._ttl_ms:
            await self._client.write(scripts.KEEP, head)
        return result

    def _start_undo(self, id: str) -> asyncio.Task[None]:
        """Start and return a task that removes the conversation of a failed `create` call.

        The failed call may have stored the conversation, which would then count towards the limit.
        """
        task = asyncio.ensure_future(self._undo_create(id))
        self._undo_tasks.add(task)
        task.add_done_callback(self._undo_tasks.discard)
        return task

    async def _undo_create(self, id: str) -> None:
        try:
            await self._remove(id, durably=False)
            await self._unlist(id)
        except (CortextError, asyncio.CancelledError) as error:
            why = str(error) or "the store was closed before the server answered"
            log.warning("conversation %s could not be created and may remain: %s", id, why)
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _remove(self, id: str, *, durably: bool = True) -> bool:
        event = self._event("deleted", id)
        send = self._client.write if durably else self._client.run
        return bool(await send(scripts.DELETE, self._keys(id), *event))

    async def _unlist(self, id: str) -> bool:
        """Remove a conversation id from the lists of ids.

        Return False if the id was not in the lists, for example because another process removed it.
        """
        was_listed, count = await self._client.run(scripts.UNLIST, self._index_keys, id)
        if was_listed:
            await self._usage.set_count(count)
        return bool(was_listed)

    async def _evict(self, id: str) -> None:
        if await self._remove(id):
            log.warning("more than %d conversations: the oldest, %s, was deleted", self._limit, id)
        await self._unlist(id)

    async def _sweep(self) -> None:
        """Remove the ids of expired conversations from the lists of ids, and log each id.

        The server has already removed the conversations themselves. At the end, the timer is set to
        the next deadline.
        """
        delay = LONGEST_SLEEP
        try:
            ids, milliseconds = await self._client.run(
                scripts.DUE, self._index_keys[1:2], _SWEEP_SIZE
            )
            for id in ids:
                await self._check_expiry(id.decode())
            if len(ids) == _SWEEP_SIZE:
                delay = 0.0
            elif milliseconds >= 0:
                delay = milliseconds / 1000
        except CortextError as error:
            log.warning("idle conversations were not checked: %s", error)
        self._alarm.set(delay)

    async def _check_expiry(self, id: str) -> None:
        ttl_left = await self._client.call("PTTL", self._keys(id)[0])
        if ttl_left != -2:
            delay_ms = ttl_left + 1 if ttl_left >= 0 else self._ttl_ms
            await self._client.run(scripts.AGAIN, self._index_keys[1:2], id, delay_ms)
            self._alarm.set(delay_ms / 1000)
            return
        if await self._unlist(id):
            log.info("conversation %s expired after %g s without a message", id, self._ttl or 0)
            await self._client.call("PUBLISH", *self._event("expired", id))

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_list_owner(owner, below=below)
        self._enter()
        max_entries = self._check_list_limit(limit)
        if max_entries == 0:
            return []
        ids = await self._list_ids(
            owner, -1 if max_entries is None else max_entries - 1, below=below
        )
        fields = ("createdAt", "updatedAt", "owner", "metadata")
        heads = await self._client.each([("HMGET", self._keys(id)[0], *fields) for id in ids])
        return [_entry(id, *head) for id, head in zip(ids, heads, strict=True) if head[0]]

    async def _list_ids(self, owner: str | None, last: int, *, below: bool) -> list[str]:
        """Return the ids of the conversations of `owner`, newest first. None means any owner.

        `last` is the index of the last id to return; -1 means all. With `below`, `owner` also means
        all owners whose names start with the owner's name and a `/`.
        """
        key = (
            self._index_keys[0] if owner is None else _encode_text(f"{self._index_keys[2]}:{owner}")
        )
        if below:
            below_key = _encode_text(f"{self._index_keys[3]}:{owner}")
            ids = await self._client.run(scripts.MERGE_LISTS, [key, below_key], last)
        else:
            ids = await self._client.call("ZRANGE", key, 0, last, "REV")
        return [id.decode() for id in ids]


def _entry(
    id: str, created: bytes, updated: bytes, owner: bytes, metadata: bytes | None
) -> ConversationEntry:
    decoded: dict[str, Any] = {}
    try:
        decoded = of_lines(metadata or b"")
    except ValueError as error:
        # Metadata that another program wrote must not hide the other conversations.
        log.warning("the metadata of conversation %s cannot be read: %s", id, error)
    return ConversationEntry(
        id, from_micros(int(created)), from_micros(int(updated)), _decode_text(owner), decoded
    )


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode_text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogatepass")
