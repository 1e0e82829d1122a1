"""The conversation store in files. Each conversation is a session in a log store.

A log store is a folder with one file for each session. When `add_message` returns, the message is
on disk. The file contains every message. The window limits only the messages that are returned. By
default, conversations do not expire and their number is not limited.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from cortext import clock as wall
from cortext.errors import SessionNotFoundError, SessionStorageError
from cortext.model.ids import check_id, new_id
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.service.stores.base import (
    Conversations,
    check_list_owner,
    check_message,
    check_owner,
    is_of,
    not_found,
)
from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.conversation_log import (
    ConversationLog,
    EntryCache,
    change_metadata,
    mark_of,
    measure_usage,
    seconds_since,
    stamped,
    updated_at,
)
from cortext.service.stores.expiry_timer import Clock, LoopClock, Sweeper
from cortext.service.stores.metadata import copied
from cortext.service.stores.port import (
    WINDOW,
    Conversation,
    ConversationEntry,
    Message,
    Messages,
    from_session_message,
    to_session_message,
)
from cortext.service.stores.store_size_log import StoreUsage, UsageLog, UsageMeter

log: logging.Logger = logging.getLogger("cortext.conversations")
T = TypeVar("T")
_NEVER = datetime.min.replace(tzinfo=UTC)


class FileConversationStore(Conversations):
    """A conversation store in a folder of files. Any number of processes may share the folder.

    The TTL (the time until a conversation expires) starts when the store saves a message. Each
    message has the time of saving in `stored_at`. If another program wrote a message without
    `stored_at`, the TTL starts at the timestamp of the message.

    A process removes an expired conversation only if it knows the conversation. It knows the
    conversations that existed when it started to use the store, and those that it has used since.
    """

    def __init__(
        self,
        sessions: ConversationLog,
        *,
        window: int | None = WINDOW,
        ttl: float | None = None,
        max_conversations: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__("file", window=window, ttl=ttl, limit=max_conversations)
        self._sessions = sessions
        # A new process must know the ids of the whole window, so that no message is stored twice.
        sessions.first_lines = max(sessions.first_lines, self._window)
        self._clock: Clock = clock or LoopClock()
        self._hub = Hub(self._enter)
        self._entries = EntryCache(sessions)
        self._usage = UsageMeter(UsageLog("on disk"), self._measure)
        self._deadlines: dict[str, float] = {}
        self._last_stored: dict[str, datetime] = {}
        self._created: dict[str, datetime] = {}
        self._deleting: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ready: asyncio.Future[None] | None = None
        self._sweeper = Sweeper(
            self._clock, self._deadlines, self._deadlines.get, self._expire_soon
        )

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        await self._wait_until_ready()
        check_owner(owner)
        now = wall.now()
        metadata_copy = copied(metadata)
        session = Session(
            new_id(), created_at=now, updated_at=now, owner=owner, metadata=metadata_copy
        )
        await self._run_in_thread(self._sessions.save, session)
        self._touch(session.id, now)
        log.info("conversation %s created", session.id)
        self._hub.tell("created", session.id)
        evicted = 0
        if self._limit is not None:
            self._created[session.id] = now
            evicted = await self._evict(self._limit)
        await self._usage.count_changed(1 - evicted)
        return session.id

    async def get(self, id: str) -> Conversation | None:
        if not await self._is_available(id):
            return None
        try:
            head, updated, messages = await self._run_in_thread(self._read_conversation, id)
        except SessionNotFoundError:
            return None
        return Conversation(id, messages, head.created_at, updated, head.metadata, head.owner)

    async def add_if_new(self, id: str, message: Message) -> bool:
        record = stamped(to_session_message(check_message(message)), wall.now())
        if not await self._is_available(id):
            raise not_found(id)
        # Restart the TTL before the write, so that the sweeper does not remove the conversation.
        self._touch(id)
        try:
            is_new, last = await self._run_in_thread(self._append_message, id, record)
        except SessionNotFoundError:
            self._forget(id)
            raise not_found(id) from None
        if last is not None:
            self._touch(id, last)
        if is_new:
            self._usage.size_changed()
            self._hub.tell("message", id, message)
        return is_new

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        count = self._message_count(limit)
        if not await self._is_available(id):
            return []
        try:
            return [
                *map(
                    from_session_message, await self._run_in_thread(self._sessions.tail, id, count)
                )
            ]
        except SessionNotFoundError:
            return []

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        updates = copied(changes)
        if not await self._is_available(id):
            raise not_found(id)
        try:
            return await self._run_in_thread(change_metadata, self._sessions, id, updates)
        except SessionNotFoundError:
            self._forget(id)
            raise not_found(id) from None

    async def mark(self, id: str) -> object:
        """Return a fingerprint of the conversation's file. It changes when the file changes.

        So the caller can detect changes by other processes, which `events` does not report.
        """
        return await self._run_in_thread(mark_of, self._sessions, id)

    async def delete(self, id: str) -> None:
        await self._wait_until_ready()
        if await self._remove(check_id(id)):
            log.info("conversation %s deleted", id)
            self._hub.tell("deleted", id)
            await self._usage.count_changed(-1)

    def events(self, id: str | None = None) -> StoreSubscription:
        """Return a subscription to the changes that this process makes.

        Changes by other processes cause no events.
        """
        return self._hub.follow(None if id is None else check_id(id))

    async def aclose(self) -> None:
        self._hub.end()
        self._sweeper.disarm()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._usage.aclose()
        await self._run_in_thread(self._sessions.close)
        self._loop = None

    def _reset_for_new_loop(self) -> None:
        self._hub.followers.clear()
        self._ready = None
        self._tasks.clear()
        self._usage.drop()
        self._sweeper.disarm()
        self._sweeper.arm()

    async def _wait_until_ready(self) -> None:
        """Attach the store to the event loop, and wait until the deadlines are loaded.

        The deadline of a conversation is the time when it expires. The first call in an event loop
        reads all conversations to find their deadlines. If conversations never expire, nothing is
        loaded.
        """
        self._enter()
        if self._ttl is None:
            return
        if self._ready is None:
            self._ready = asyncio.ensure_future(self._load_deadlines())
        try:
            await asyncio.shield(self._ready)
        except SessionStorageError:
            self._ready = None
            raise

    async def _load_deadlines(self) -> None:
        for id, last in (
            await self._run_in_thread(lambda: dict(self._read_each(self._last_activity)))
        ).items():
            if id not in self._deadlines:
                self._touch(id, last)

    def _append_message(self, id: str, record: SessionMessage) -> tuple[bool, datetime | None]:
        """Append a message unless its id is already stored.

        Return whether the message was added, and the time of the conversation's last update. The
        time is None if conversations never expire.
        """
        is_new = bool(self._sessions.append(id, record))
        return is_new, None if self._ttl is None else self._last_activity(id)

    def _last_activity(self, id: str) -> datetime:
        """Read the time of the last update from the file of a conversation."""
        return updated_at(self._sessions.head(id), self._sessions.tail(id, 1))

    def _read_each(
        self, read: Callable[[str], T], ids: Iterable[str] | None = None
    ) -> Iterator[tuple[str, T]]:
        """Call `read` for each conversation id, and yield the id and the result.

        If `ids` is None, all conversations are read. A conversation that does not exist is skipped.
        A conversation that cannot be read is logged and skipped.
        """
        for id in self._sessions.list_session_ids() if ids is None else ids:
            try:
                yield id, read(id)
            except SessionNotFoundError:
                continue
            except SessionStorageError as error:
                log.warning("%s", error)

    async def _is_available(self, id: str) -> bool:
        """Return False if a conversation has expired or is being deleted, otherwise True.

        The file is not checked, so True does not mean that the conversation exists.
        """
        await self._wait_until_ready()
        check_id(id)
        if id in self._deleting:
            return False
        deadline = self._deadlines.get(id)
        return deadline is None or deadline > self._clock.time() or not await self._expire(id)

    def _touch(self, id: str, last: datetime | None = None) -> None:
        """Restart the TTL of a conversation (the time until the conversation expires).

        The TTL starts at `last`, the time when the store saved the last message. If `last` is None,
        the TTL starts now.
        """
        if self._ttl is None:
            return
        idle, is_known = 0.0, id in self._deadlines
        if last is not None:
            self._last_stored[id] = max(last, self._last_stored.get(id, last))
            idle = seconds_since(self._last_stored[id])
        self._deadlines[id] = self._clock.time() + self._ttl - idle
        if not is_known:
            self._sweeper.add(id, self._deadlines[id])

    def _forget(self, id: str) -> None:
        for cache in (self._deadlines, self._last_stored, self._created):
            cache.pop(id, None)

    def _expire_soon(self, id: str) -> None:
        task = asyncio.ensure_future(self._expire_or_reschedule(id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire_or_reschedule(self, id: str) -> None:
        if not await self._expire(id) and id in self._deadlines:
            self._sweeper.add(id, self._deadlines[id])

    async def _expire(self, id: str) -> bool:
        """Remove a conversation whose TTL has passed, and return whether the conversation is gone.

        If another process has added a message, the conversation is not removed. If the file cannot
        be read, the error is logged and the conversation is not removed.
        """
        try:
            return await self._expire_idle(id, await self._run_in_thread(self._last_activity, id))
        except SessionNotFoundError:
            self._forget(id)
            return True
        except SessionStorageError as error:
            log.warning("not expired: %s", error)
            self._forget(id)
            return False

    async def _expire_idle(self, id: str, last: datetime) -> bool:
        if id not in self._deadlines:
            return True
        now, ttl = self._clock.time(), self._ttl or 0.0
        if last > self._last_stored.get(id, _NEVER):
            self._last_stored[id] = last
            self._deadlines[id] = max(self._deadlines[id], now + ttl - seconds_since(last))
        if self._deadlines[id] > now:
            return False
        # `unless` checks again under the lock: another process may have added a message.
        delete = partial(self._sessions.delete, unless=lambda: self._last_activity(id) > last)
        if not await self._run_in_thread(delete, id):
            return id not in self._deadlines
        self._forget(id)
        log.info("conversation %s expired after %g s without a message", id, ttl)
        self._hub.tell("expired", id)
        await self._usage.count_changed(-1)
        return True

    async def _remove(self, id: str) -> bool:
        if id in self._deleting:
            return False
        self._deleting.add(id)
        try:
            existed = await self._run_in_thread(self._sessions.delete, id)
        finally:
            self._deleting.discard(id)
        self._forget(id)
        return existed

    async def _evict(self, limit: int) -> int:
        """Remove the oldest conversations if there are more than `limit`.

        Return how many conversations were removed. The conversations of other processes are
        counted, and may be removed, too.
        """
        evicted = 0
        self._created = await self._run_in_thread(lambda: dict(self._read_each(self._created_at)))
        for id in sorted(self._created, key=self._created.__getitem__)[:-limit]:
            if await self._remove(id):
                log.warning("more than %d conversations: the oldest, %s, was deleted", limit, id)
                self._hub.tell("deleted", id)
                evicted += 1
        return evicted

    async def _measure(self) -> StoreUsage:
        return await self._run_in_thread(measure_usage, self._sessions)

    def _created_at(self, id: str) -> datetime:
        return self._created.get(id) or self._sessions.head(id).created_at

    def _read_conversation(self, id: str) -> tuple[Session, datetime, Messages]:
        records = self._sessions.tail(id, self._window)
        head = self._sessions.head(id)
        return head, updated_at(head, records), [*map(from_session_message, records)]

    async def _run_in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` in a thread, because file operations block the event loop."""
        return await asyncio.to_thread(work, *arguments)

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_list_owner(owner, below=below)
        max_entries = self._check_list_limit(limit)
        await self._wait_until_ready()
        creations = await self._run_in_thread(lambda: dict(self._read_each(self._entries.begun)))
        now = self._clock.time()
        self._entries.retain_only(creations.keys())
        order = sorted(creations, key=lambda id: creations[id][0], reverse=True)
        ids = (
            id
            for id in order
            if is_of(creations[id][1], owner, below=below)
            and self._deadlines.get(id, now + 1) > now
        )
        entries = self._read_each(self._entries.entry, ids)
        return await self._run_in_thread(
            lambda: [entry for _, entry in islice(entries, max_entries)]
        )
