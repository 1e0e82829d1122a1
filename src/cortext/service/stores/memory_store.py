"""The conversation store in the memory of this process.

A conversation is removed when it has been idle for longer than the TTL, when there are more
conversations than the limit, or when the process ends.
"""

from __future__ import annotations

import logging
from asyncio import get_running_loop
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from sys import getsizeof
from typing import Any

from cortext import clock as wall
from cortext.model import json_codec
from cortext.model.ids import check_id, new_id
from cortext.model.json_values import json_copy
from cortext.service.stores.base import (
    Conversations,
    check_message,
    check_owner,
    check_owners,
    is_of,
    not_found,
)
from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.expiry_sweeper import Clock, LoopClock, Sweeper
from cortext.service.stores.metadata import copied, merged
from cortext.service.stores.port import (
    LIMIT,
    TTL,
    WINDOW,
    Conversation,
    ConversationEntry,
    Message,
    Messages,
    own,
)
from cortext.service.stores.usage_log import LARGE, UsageLog

log: logging.Logger = logging.getLogger("cortext.conversations")

_PER_MESSAGE = 400
_PER_CONVERSATION = 1_500


class _Kept:
    """A stored conversation. `messages` maps ids to messages, oldest first."""

    __slots__ = ("created_at", "deadline", "messages", "metadata", "owner", "updated_at")

    def __init__(self, at: datetime, deadline: float, owner: str, metadata: dict[str, Any]) -> None:
        self.created_at = self.updated_at = at
        self.deadline = deadline
        self.owner = owner
        self.metadata = metadata
        self.messages: dict[str | None, Message] = {}


class MemoryConversationStore(Conversations):
    """A conversation store in a dict.

    No method awaits anything, so no call sees the unfinished work of another call.
    """

    def __init__(
        self,
        *,
        window: int | None = WINDOW,
        ttl: float | None = TTL,
        max_conversations: int | None = LIMIT,
        clock: Clock | None = None,
    ) -> None:
        super().__init__("in-memory", window=window, ttl=ttl, limit=max_conversations)
        self._clock: Clock = clock or LoopClock()
        self._time = self._clock.time
        self._life = float("inf") if self._ttl is None else self._ttl
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0
        self._usage_log = UsageLog("of memory")
        self._hub = Hub(self._enter)
        self._sweeper = Sweeper(self._clock, self._kept, self._deadline_of, self._expire)

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        check_owner(owner)
        id = new_id()
        kept = _Kept(wall.now(), self._time() + self._life, owner, copied(metadata))
        self._kept[id] = kept
        self._bytes += _head_size(kept)
        if self._ttl is not None:
            self._sweeper.add(id, kept.deadline)
        log.info("conversation %s created", id)
        self._hub.tell("created", id)
        if self._limit is not None and len(self._kept) > self._limit:
            self._evict(self._limit)
        self._report()
        return id

    async def get(self, id: str) -> Conversation | None:
        kept = self._find(id)
        if kept is None:
            return None
        return Conversation(
            id,
            [*map(own, kept.messages.values())],
            kept.created_at,
            kept.updated_at,
            json_copy(kept.metadata, "metadata"),
            kept.owner,
        )

    async def add_message(self, id: str, message: Message) -> None:
        self._add(id, message)

    async def add_if_new(self, id: str, message: Message) -> bool:
        return self._add(id, message)

    def _add(self, id: str, message: Message) -> bool:
        # This is the most frequent call, so `_find` and `_size` are written out here.
        kept = self._kept.get(id) if type(id) is str else None
        now = self._time()
        if kept is None or kept.deadline <= now or get_running_loop() is not self._loop:
            kept = self._find(id)
            if kept is None:
                raise not_found(id)
        if type(message) is not Message:
            check_message(message)
        messages, key = kept.messages, message.id
        if key in messages:
            return False
        if message.structured_data is None:
            more = _PER_MESSAGE + getsizeof(message.content)
        else:
            message = own(message)
            more = _size(message)
        messages[key] = message
        if len(messages) > self._window:
            oldest = messages.pop(next(iter(messages)))
            if oldest.structured_data is None:
                more -= _PER_MESSAGE + getsizeof(oldest.content)
            else:
                more -= _size(oldest)
        self._bytes += more
        if self._bytes > LARGE or self._usage_log.warned_at:
            self._usage_log.size_changed(len(self._kept), self._bytes)
        kept.updated_at = wall.now()
        kept.deadline = now + self._life
        if self._hub.followers:
            self._hub.tell("message", id, message)
        return True

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        count, kept = self._count(limit), self._find(id)
        if kept is None:
            return []
        messages = kept.messages
        return [*map(own, islice(messages.values(), max(len(messages) - count, 0), None))]

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        wanted, kept = copied(changes), self._find(id)
        if kept is None:
            raise not_found(id)
        self._bytes -= _head_size(kept)
        kept.metadata = merged(kept.metadata, wanted)
        self._bytes += _head_size(kept)
        self._usage_log.size_changed(len(self._kept), self._bytes)
        return json_copy(kept.metadata, "metadata")

    async def delete(self, id: str) -> None:
        if self._find(id) is not None:
            self._remove(id)
            log.info("conversation %s deleted", id)
            self._hub.tell("deleted", id)
            self._report()

    def events(self, id: str | None = None) -> StoreSubscription:
        return self._hub.follow(None if id is None else check_id(id))

    async def aclose(self) -> None:
        self._hub.end()
        self._sweeper.disarm()
        self._loop = None

    def _moved(self) -> None:
        self._hub.followers.clear()
        self._sweeper.disarm()
        self._sweeper.arm()

    def _find(self, id: str) -> _Kept | None:
        """Return a conversation, or None if it does not exist or its TTL has passed."""
        if get_running_loop() is not self._loop:
            self._enter()
        kept = self._kept.get(id) if type(id) is str else None
        if kept is None:
            check_id(id)
        elif kept.deadline <= self._time():
            self._expire(id)
            return None
        return kept

    def _deadline_of(self, id: str) -> float | None:
        kept = self._kept.get(id)
        return None if kept is None else kept.deadline

    def _expire(self, id: str) -> None:
        self._remove(id)
        log.info("conversation %s expired after %g s without a message", id, self._ttl or 0)
        self._hub.tell("expired", id)
        self._report()

    def _evict(self, limit: int) -> None:
        while len(self._kept) > limit:
            id = next(iter(self._kept))
            self._remove(id)
            log.warning("more than %d conversations: the oldest, %s, was deleted", limit, id)
            self._hub.tell("deleted", id)

    def _remove(self, id: str) -> None:
        kept = self._kept.pop(id)
        self._bytes -= _head_size(kept) + sum(map(_size, kept.messages.values()))

    def _report(self) -> None:
        """Log the number and the size of the conversations, because the number has changed."""
        self._usage_log.count_changed(len(self._kept), self._bytes)

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_owners(owner, below=below)
        self._enter()
        most, now = self._most(limit), self._time()
        found = (
            _entry(id, kept)
            for id, kept in reversed(self._kept.items())
            if kept.deadline > now and is_of(kept.owner, owner, below=below)
        )
        return [*islice(found, most)]


def _entry(id: str, kept: _Kept) -> ConversationEntry:
    about: dict[str, Any] = json_copy(kept.metadata, "metadata") if kept.metadata else {}
    return ConversationEntry(id, kept.created_at, kept.updated_at, kept.owner, about)


def _head_size(kept: _Kept) -> int:
    """Estimate how many bytes of memory a conversation takes without its messages."""
    size = _PER_CONVERSATION + getsizeof(kept.owner)
    return size + 3 * len(json_codec.encode(kept.metadata)) if kept.metadata else size


def _size(message: Message) -> int:
    """Estimate how many bytes of memory a message takes."""
    size = _PER_MESSAGE + getsizeof(message.content)
    if message.structured_data is not None:
        # Objects take about three times the size of their text.
        size += 3 * len(json_codec.encode(message.structured_data))
    return size
