"""The conversation store on a Redis server or cluster, for any number of processes.

Each conversation has three keys, which expire together: `conv:{ID}` (a hash with times, owner and
metadata), `conv:{ID}:messages` and `conv:{ID}:ids` (lists).

The lists of conversation ids are `conv:{all}:created` and `conv:{all}:due` (sorted sets by time)
and `conv:{all}:owner` (a hash of ids and owners). For each owner there are `conv:{all}:owner:NAME`
and `conv:{all}:below:NAME`, the latter for owners named `NAME/...` (sorted sets).
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
    check_message,
    check_owner,
    check_owners,
    not_found,
)
from cortext.service.stores.conversation_json import decode_message, encode_message
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
from cortext.service.stores.redis import conversation_scripts as scripts
from cortext.service.stores.redis.redis_client import RedisClient, ReplicationError
from cortext.service.stores.redis.redis_subscriptions import RedisFollowing, RedisListener
from cortext.service.stores.timer import LONGEST_SLEEP, Alarm
from cortext.service.stores.usage_log import StoreUsage, UsageLog, UsageMeter

log: logging.Logger = logging.getLogger("cortext.conversations")

REMEMBERED = 100
"""How many message ids of a conversation are stored at least, so that none is added twice."""
_PREFIX = re.compile(r"[A-Za-z0-9:._-]+")
_AT_ONCE = 100
_UNLISTED = 600_000
_MOMENT = 0.5
_MOST_CHANGES = 20
"""The maximum number of stored metadata changes before they are merged into one JSON object."""
_SAMPLE = 20
"""The number of conversations whose memory is measured to estimate the memory of all."""


class RedisConversationStore(Conversations):
    """A conversation store on a Redis server, shared by any number of processes.

    `create` and `delete` take two round trips, and every other call takes one. `create` without a
    TTL takes three. The first call that changes the number of conversations takes two more, to
    estimate their memory for the log.

    The limit counts the conversations of all processes. It may be exceeded for a moment while a
    process creates a conversation.

    With `wait_replicas=N`, `create`, `add_message` and `delete` return only when N replicas have
    the change. They raise ReplicationError if that does not happen in time.

    `url_or_client` is a URL or a redis-py client. `aclose` does not close a client that the caller
    passed in.
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
            raise ValueError(f"prefix is letters, digits, ':', '.', '_' and '-', not {prefix!r}")
        self._link = RedisClient(url_or_client, timeout=timeout, replicas=wait_replicas)
        super().__init__("redis", window=window, ttl=ttl, limit=max_conversations)
        self._prefix = prefix
        self._life = 0 if self._ttl is None else max(int(self._ttl * 1000), 1)
        self._all = [f"{prefix}:{{all}}:{name}" for name in ("created", "due", "owner", "below")]
        self._alarm = Alarm(self._sweep)
        self._listening = RedisListener(self._linked, f"{prefix}:events:")
        self._usage = UsageMeter(UsageLog("of memory"), self._measure)
        self._undoing: set[asyncio.Task[None]] = set()

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        check_owner(owner)
        id = new_id()
        about = json_codec.encode(copied(metadata))
        sent = self._link.sent
        try:
            count, oldest = await self._begin(id, owner, about)
            log.info("conversation %s created", id)
            await self._usage.count_is(count)
        except ReplicationError as error:
            await asyncio.shield(self._taking_back(id))
            raise ReplicationError(error.have, error.wanted, undone=True) from None
        except (Exception, asyncio.CancelledError):
            # Clean up in the background: the caller has already waited for the server.
            if self._link.sent != sent:
                self._taking_back(id)
            raise
        for extra in oldest:
            await self._evict(extra.decode())
        if self._ttl is not None:
            self._alarm.set(self._ttl)
        return id

    async def get(self, id: str) -> Conversation | None:
        self._enter()
        found = await self._link.run(scripts.GET, self._keys(id)[:2], self._window)
        if not found:
            return None
        (created, updated, owner, metadata), lines = found
        return Conversation(
            id,
            self._decoded(id, lines),
            from_micros(int(created)),
            from_micros(int(updated)),
            self._about(id, metadata or b""),
            _text(owner),
        )

    async def add_if_new(self, id: str, message: Message) -> bool:
        self._enter()
        channel, event = self._event("message", id)
        found = await self._link.write(
            scripts.ADD,
            self._keys(id),
            _bytes(check_message(message).id or ""),
            encode_message(message),
            self._window,
            max(self._window, REMEMBERED),
            self._life,
            channel,
            # The script adds the message and the closing brace.
            event[:-1] + ',"message":',
        )
        if not found:
            raise not_found(id)
        self._usage.size_changed()
        return found == scripts.ADDED

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        self._enter()
        count, key = self._count(limit), self._keys(id)[1]
        if not count:
            return []
        return self._decoded(id, await self._link.call("LRANGE", key, -count, -1))

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        self._enter()
        wanted, head = json_codec.encode(copied(changes)), self._keys(id)[:1]
        lines: bytes | None = await self._link.write(scripts.CHANGE, head, wanted)
        if not lines:
            raise not_found(id)
        found = self._about(id, lines)
        if lines.count(b"\n") > _MOST_CHANGES:
            await self._link.run(scripts.JOIN, head, lines, json_codec.encode(found))
        return found

    async def delete(self, id: str) -> None:
        self._enter()
        if await self._remove(id):
            log.info("conversation %s deleted", id)
            await self._strike(id)
        elif self._ttl is None:
            # Without a TTL there is no sweep, and another process may have died during a delete.
            await self._strike(id)

    def events(self, id: str | None = None) -> RedisFollowing:
        """Return a subscription to the events that any process causes in this store.

        All subscriptions share one connection. Events that occur while the connection is lost are
        missed, and a warning is logged.
        """
        return RedisFollowing(self._listening, None if id is None else check_id(id))

    async def aclose(self) -> None:
        await self._listening.aclose()
        await self._alarm.aclose()
        await self._usage.aclose()
        await self._finish()
        await self._link.aclose()
        self._loop = None

    async def _finish(self) -> None:
        """Wait a moment for the clean-up after failed calls of `create`, then cancel it.

        A server that works needs no longer than that moment.
        """
        if self._undoing:
            _, late = await asyncio.wait(self._undoing, timeout=min(_MOMENT, self._link.timeout))
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    def _moved(self) -> None:
        self._alarm.drop()
        self._usage.drop()
        self._listening.drop()
        self._undoing.clear()
        self._link.connect()
        if self._ttl is not None:
            # A random delay, so that processes that start together do not sweep together.
            self._alarm.set(min(1.0, self._ttl) * random.random())  # noqa: S311  no secret

    async def _measure(self) -> StoreUsage:
        """Return the number of conversations, and estimate their memory from a random sample."""
        every = self._all[0]
        count, ids = await self._link.each([("ZCARD", every), ("ZRANDMEMBER", every, _SAMPLE)])
        keys = [key for id in ids for key in self._keys(id.decode())]
        sizes = await self._link.each([("MEMORY", "USAGE", key) for key in keys], key_at=2)
        mean = sum(size or 0 for size in sizes) / max(len(ids), 1)
        return StoreUsage(count, count * mean)

    def _linked(self) -> RedisClient:
        self._enter()
        return self._link

    def _keys(self, id: str) -> list[str]:
        key = f"{self._prefix}:{{{check_id(id)}}}"
        return [key, f"{key}:messages", f"{key}:ids"]

    def _event(self, kind: str, id: str) -> tuple[str, str]:
        return f"{self._prefix}:events:{id}", f'{{"kind":"{kind}","id":"{id}"}}'

    def _decoded(self, id: str, lines: list[bytes]) -> Messages:
        try:
            return [*map(decode_message, lines)]
        except ValueError as error:
            raise self._corrupted(self._keys(id)[1], error) from None

    def _about(self, id: str, lines: bytes) -> dict[str, Any]:
        try:
            return of_lines(lines)
        except ValueError as error:
            raise self._corrupted(self._keys(id)[0], error) from None

    def _corrupted(self, key: str, error: ValueError) -> SessionCorruptedError:
        return SessionCorruptedError(
            key, str(error), hint="something else wrote to this key of Redis"
        )

    async def _begin(self, id: str, owner: str, metadata: bytes) -> tuple[int, list[bytes]]:
        """Store a new conversation, then add its id to the lists of ids.

        Return the number of conversations, and the ids of the oldest ones above the limit. This
        order ensures that a process that removes a listed conversation finds it.
        """
        head, whose, event = self._keys(id)[:1], _bytes(owner), self._event("created", id)
        # Until it is listed nobody would remove it, so it expires in any case.
        life = self._life or _UNLISTED
        created = await self._link.write(scripts.BEGIN, head, life, whose, metadata, *event)
        found = await self._link.write(
            scripts.ENROL, self._all, id, self._life, self._limit or 0, whose, created
        )
        if not self._life:
            await self._link.write(scripts.KEEP, head)
        return found

    def _taking_back(self, id: str) -> asyncio.Task[None]:
        """Start a task that removes the conversation that a failed `create` may have stored.

        Otherwise it would count towards the limit.
        """
        task = asyncio.ensure_future(self._take_back(id))
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)
        return task

    async def _take_back(self, id: str) -> None:
        try:
            await self._remove(id, durably=False)
            await self._strike(id)
        except (CortextError, asyncio.CancelledError) as error:
            why = str(error) or "the store was closed before the server answered"
            log.warning("a conversation that failed to begin, %s, may be left: %s", id, why)
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _remove(self, id: str, *, durably: bool = True) -> bool:
        event = self._event("deleted", id)
        send = self._link.write if durably else self._link.run
        return bool(await send(scripts.DELETE, self._keys(id), *event))

    async def _strike(self, id: str) -> bool:
        """Remove a conversation id from the lists of ids. Return whether this call removed it."""
        struck, count = await self._link.run(scripts.STRIKE, self._all, id)
        if struck:
            await self._usage.count_is(count)
        return bool(struck)

    async def _evict(self, id: str) -> None:
        if await self._remove(id):
            log.warning("more than %d conversations: the oldest, %s, was deleted", self._limit, id)
        await self._strike(id)

    async def _sweep(self) -> None:
        """Remove conversations that the server has expired from the lists, and log each of them.

        Then set the timer to the next deadline.
        """
        delay = LONGEST_SLEEP
        try:
            found, milliseconds = await self._link.run(scripts.DUE, self._all[1:2], _AT_ONCE)
            for id in found:
                await self._look_at(id.decode())
            if len(found) == _AT_ONCE:
                delay = 0.0
            elif milliseconds >= 0:
                delay = milliseconds / 1000
        except CortextError as error:
            log.warning("idle conversations were not looked at: %s", error)
        self._alarm.set(delay)

    async def _look_at(self, id: str) -> None:
        left = await self._link.call("PTTL", self._keys(id)[0])
        if left != -2:
            again = left + 1 if left >= 0 else self._life
            await self._link.run(scripts.AGAIN, self._all[1:2], id, again)
            self._alarm.set(again / 1000)
            return
        if await self._strike(id):
            log.info("conversation %s expired after %g s without a message", id, self._ttl or 0)
            await self._link.call("PUBLISH", *self._event("expired", id))

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_owners(owner, below=below)
        self._enter()
        most = self._most(limit)
        if most == 0:
            return []
        ids = await self._listed(owner, -1 if most is None else most - 1, below=below)
        fields = ("createdAt", "updatedAt", "owner", "metadata")
        heads = await self._link.each([("HMGET", self._keys(id)[0], *fields) for id in ids])
        return [_entry(id, *head) for id, head in zip(ids, heads, strict=True) if head[0]]

    async def _listed(self, owner: str | None, last: int, *, below: bool) -> list[str]:
        """Return the ids of the conversations of `owner`, newest first; None means any owner.

        `last` is the index of the last id to return; -1 means all. With `below`, owners whose names
        start with `OWNER/` are included.
        """
        key = self._all[0] if owner is None else _bytes(f"{self._all[2]}:{owner}")
        if below:
            beside = _bytes(f"{self._all[3]}:{owner}")
            found = await self._link.run(scripts.OF_BOTH, [key, beside], last)
        else:
            found = await self._link.call("ZRANGE", key, 0, last, "REV")
        return [id.decode() for id in found]


def _entry(
    id: str, created: bytes, updated: bytes, owner: bytes, metadata: bytes | None
) -> ConversationEntry:
    about: dict[str, Any] = {}
    try:
        about = of_lines(metadata or b"")
    except ValueError as error:
        # Metadata that another program wrote must not hide the other conversations.
        log.warning("the metadata of conversation %s cannot be read: %s", id, error)
    return ConversationEntry(
        id, from_micros(int(created)), from_micros(int(updated)), _text(owner), about
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogatepass")
