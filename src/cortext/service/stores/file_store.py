"""The conversation store in files: each conversation is a session of a log store.

A message is durable when the call that adds it returns. The window limits only what is returned:
the file has every message. By default nothing expires and there is no limit.
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
    check_message,
    check_owner,
    check_owners,
    is_of,
    not_found,
)
from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.conversation_log_port import (
    ConversationLog,
    EntryCache,
    change_metadata,
    idle_since,
    mark_of,
    measure_usage,
    stamped,
    updated_at,
)
from cortext.service.stores.expiry_sweeper import Clock, LoopClock, Sweeper
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
from cortext.service.stores.usage_log import StoreUsage, UsageLog, UsageMeter

log: logging.Logger = logging.getLogger("cortext.conversations")
T = TypeVar("T")
_NEVER = datetime.min.replace(tzinfo=UTC)


class FileConversationStore(Conversations):
    """A conversation store in a folder of files. Any number of processes may share the folder.

    Each stored message has the time when it was stored as `stored_at`; the TTL counts from then. If
    another program wrote a message without `stored_at`, the timestamp of the message is used.

    A process removes only expired conversations that it knows: those that existed when the process
    started to use the store, and those that it has used since.
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
        # A process that starts must also recognize each message of the window by its id.
        sessions.first_lines = max(sessions.first_lines, self._window)
        self._clock: Clock = clock or LoopClock()
        self._hub = Hub(self._enter)
        self._entries = EntryCache(sessions)
        self._usage = UsageMeter(UsageLog("on disk"), self._measure)
        self._due: dict[str, float] = {}
        self._seen: dict[str, datetime] = {}
        self._created: dict[str, datetime] = {}
        self._leaving: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ready: asyncio.Future[None] | None = None
        self._sweeper = Sweeper(self._clock, self._due, self._due.get, self._expire_soon)

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        await self._begin()
        check_owner(owner)
        now = wall.now()
        about = copied(metadata)
        made = Session(new_id(), created_at=now, updated_at=now, owner=owner, metadata=about)
        await self._do(self._sessions.save, made)
        self._touch(made.id, now)
        log.info("conversation %s created", made.id)
        self._hub.tell("created", made.id)
        evicted = 0
        if self._limit is not None:
            self._created[made.id] = now
            evicted = await self._evict(self._limit)
        await self._usage.count_changed(1 - evicted)
        return made.id

    async def get(self, id: str) -> Conversation | None:
        if not await self._is_there(id):
            return None
        try:
            head, updated, messages = await self._do(self._read, id)
        except SessionNotFoundError:
            return None
        return Conversation(id, messages, head.created_at, updated, head.metadata, head.owner)

    async def add_if_new(self, id: str, message: Message) -> bool:
        record = stamped(to_session_message(check_message(message)), wall.now())
        if not await self._is_there(id):
            raise not_found(id)
        # Restart the TTL before the write, so that the sweeper does not remove the conversation.
        self._touch(id)
        try:
            is_new, last = await self._do(self._append, id, record)
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
        count = self._count(limit)
        if not await self._is_there(id):
            return []
        try:
            return [*map(from_session_message, await self._do(self._sessions.tail, id, count))]
        except SessionNotFoundError:
            return []

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        wanted = copied(changes)
        if not await self._is_there(id):
            raise not_found(id)
        try:
            return await self._do(change_metadata, self._sessions, id, wanted)
        except SessionNotFoundError:
            self._forget(id)
            raise not_found(id) from None

    async def mark(self, id: str) -> object:
        """Return a value that differs after the file of the conversation was changed.

        Other processes may change the file, and `events` does not report their changes.
        """
        return await self._do(mark_of, self._sessions, id)

    async def delete(self, id: str) -> None:
        await self._begin()
        if await self._remove(check_id(id)):
            log.info("conversation %s deleted", id)
            self._hub.tell("deleted", id)
            await self._usage.count_changed(-1)

    def events(self, id: str | None = None) -> StoreSubscription:
        """Return a subscription to the events that this process causes.

        Changes by other processes cause no events.
        """
        return self._hub.follow(None if id is None else check_id(id))

    async def aclose(self) -> None:
        self._hub.end()
        self._sweeper.disarm()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._usage.aclose()
        await self._do(self._sessions.close)
        self._loop = None

    def _moved(self) -> None:
        self._hub.followers.clear()
        self._ready = None
        self._tasks.clear()
        self._usage.drop()
        self._sweeper.disarm()
        self._sweeper.arm()

    async def _begin(self) -> None:
        """Attach the store to the event loop and wait until existing conversations were scanned.

        The first call in an event loop starts the scan, which finds the deadlines of the TTL.
        """
        self._enter()
        if self._ttl is None:
            return
        if self._ready is None:
            self._ready = asyncio.ensure_future(self._look())
        try:
            await asyncio.shield(self._ready)
        except SessionStorageError:
            self._ready = None
            raise

    async def _look(self) -> None:
        for id, last in (await self._do(lambda: dict(self._each(self._last)))).items():
            if id not in self._due:
                self._touch(id, last)

    def _append(self, id: str, record: SessionMessage) -> tuple[bool, datetime | None]:
        """Append a message unless its id is already stored, and return whether it was added.

        The second value is when the last message was stored. It is None if the store has no TTL.
        """
        is_new = bool(self._sessions.append(id, record))
        return is_new, None if self._ttl is None else self._last(id)

    def _last(self, id: str) -> datetime:
        """Read from the file when the last message was stored, or the conversation was created."""
        return updated_at(self._sessions.head(id), self._sessions.tail(id, 1))

    def _each(
        self, tell: Callable[[str], T], ids: Iterable[str] | None = None
    ) -> Iterator[tuple[str, T]]:
        """Yield each id in `ids` with the result of `tell(id)`. None means all conversations.

        A conversation that cannot be read is logged and skipped.
        """
        for id in self._sessions.list_session_ids() if ids is None else ids:
            try:
                yield id, tell(id)
            except SessionNotFoundError:
                continue
            except SessionStorageError as error:
                log.warning("%s", error)

    async def _is_there(self, id: str) -> bool:
        """Return False if a conversation has expired or is being deleted.

        True does not mean that the conversation exists: its file is not checked.
        """
        await self._begin()
        check_id(id)
        if id in self._leaving:
            return False
        due = self._due.get(id)
        return due is None or due > self._clock.time() or not await self._expire(id)

    def _touch(self, id: str, last: datetime | None = None) -> None:
        """Restart the TTL of a conversation.

        `last` is when its last message was stored. If it is None, the TTL starts now.
        """
        if self._ttl is None:
            return
        idle, known = 0.0, id in self._due
        if last is not None:
            self._seen[id] = max(last, self._seen.get(id, last))
            idle = idle_since(self._seen[id])
        self._due[id] = self._clock.time() + self._ttl - idle
        if not known:
            self._sweeper.add(id, self._due[id])

    def _forget(self, id: str) -> None:
        for known in (self._due, self._seen, self._created):
            known.pop(id, None)

    def _expire_soon(self, id: str) -> None:
        task = asyncio.ensure_future(self._expire_due(id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire_due(self, id: str) -> None:
        if not await self._expire(id) and id in self._due:
            self._sweeper.add(id, self._due[id])

    async def _expire(self, id: str) -> bool:
        """Remove a conversation whose TTL has passed, and return whether it is gone.

        A conversation to which another process has added a message is not removed. An error is
        logged, and the conversation stays.
        """
        try:
            return await self._expire_idle(id, await self._do(self._last, id))
        except SessionNotFoundError:
            self._forget(id)
            return True
        except SessionStorageError as error:
            log.warning("not expired: %s", error)
            self._forget(id)
            return False

    async def _expire_idle(self, id: str, last: datetime) -> bool:
        if id not in self._due:
            return True
        now, ttl = self._clock.time(), self._ttl or 0.0
        if last > self._seen.get(id, _NEVER):
            self._seen[id] = last
            self._due[id] = max(self._due[id], now + ttl - idle_since(last))
        if self._due[id] > now:
            return False
        # Check again under the lock: another process may have added a message since.
        delete = partial(self._sessions.delete, unless=lambda: self._last(id) > last)
        if not await self._do(delete, id):
            return id not in self._due
        self._forget(id)
        log.info("conversation %s expired after %g s without a message", id, ttl)
        self._hub.tell("expired", id)
        await self._usage.count_changed(-1)
        return True

    async def _remove(self, id: str) -> bool:
        if id in self._leaving:
            return False
        self._leaving.add(id)
        try:
            there = await self._do(self._sessions.delete, id)
        finally:
            self._leaving.discard(id)
        self._forget(id)
        return there

    async def _evict(self, limit: int) -> int:
        """Remove the oldest conversations above the limit, and return how many were removed.

        Conversations that other processes created are counted and may be removed.
        """
        evicted = 0
        self._created = await self._do(lambda: dict(self._each(self._created_at)))
        for id in sorted(self._created, key=self._created.__getitem__)[:-limit]:
            if await self._remove(id):
                log.warning("more than %d conversations: the oldest, %s, was deleted", limit, id)
                self._hub.tell("deleted", id)
                evicted += 1
        return evicted

    async def _measure(self) -> StoreUsage:
        return await self._do(measure_usage, self._sessions)

    def _created_at(self, id: str) -> datetime:
        return self._created.get(id) or self._sessions.head(id).created_at

    def _read(self, id: str) -> tuple[Session, datetime, Messages]:
        records = self._sessions.tail(id, self._window)
        head = self._sessions.head(id)
        return head, updated_at(head, records), [*map(from_session_message, records)]

    async def _do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` in a thread, because file operations block the event loop."""
        return await asyncio.to_thread(work, *arguments)

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_owners(owner, below=below)
        most = self._most(limit)
        await self._begin()
        found = await self._do(lambda: dict(self._each(self._entries.begun)))
        now = self._clock.time()
        self._entries.forget_all_but(found.keys())
        order = sorted(found, key=lambda id: found[id][0], reverse=True)
        wanted = (
            id
            for id in order
            if is_of(found[id][1], owner, below=below) and self._due.get(id, now + 1) > now
        )
        entries = self._each(self._entries.entry, wanted)
        return await self._do(lambda: [entry for _, entry in islice(entries, most)])
