"""The conversation store in the memory of this process.

A conversation is removed when its TTL has passed, or when it is the oldest one and there are more
conversations than the limit. All conversations are lost when the process ends.
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
    check_list_owner,
    check_message,
    check_owner,
    is_of,
    not_found,
)
from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.expiry_timer import Clock, LoopClock, Sweeper
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
from cortext.service.stores.store_size_log import LARGE, UsageLog

log: logging.Logger = logging.getLogger("cortext.conversations")

_MESSAGE_OVERHEAD = 400
"""The estimated bytes of memory that a message takes besides its content."""
_CONVERSATION_OVERHEAD = 1_500
"""The estimated bytes of memory that an empty conversation takes."""


class _MemoryConversation:
    """A stored conversation. `messages` has the messages by id, oldest first."""

    __slots__ = ("created_at", "deadline", "messages", "metadata", "owner", "updated_at")

    def __init__(self, at: datetime, deadline: float, owner: str, metadata: dict[str, Any]) -> None:
        self.created_at = self.updated_at = at
        self.deadline = deadline
        self.owner = owner
        self.metadata = metadata
        self.messages: dict[str | None, Message] = {}


class MemoryConversationStore(Conversations):
    """A conversation store in the memory of this process.

    Each call runs to its end before another task can use the store, because no method waits.
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
        self._lifetime = float("inf") if self._ttl is None else self._ttl
        self._conversations: OrderedDict[str, _MemoryConversation] = OrderedDict()
        self._bytes = 0
        self._usage_log = UsageLog("of memory")
        self._hub = Hub(self._enter)
        self._sweeper = Sweeper(self._clock, self._conversations, self._deadline_of, self._expire)

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        check_owner(owner)
        id = new_id()
        conversation = _MemoryConversation(
            wall.now(), self._time() + self._lifetime, owner, copied(metadata)
        )
        self._conversations[id] = conversation
        self._bytes += _conversation_size(conversation)
        if self._ttl is not None:
            self._sweeper.add(id, conversation.deadline)
        log.info("conversation %s created", id)
        self._hub.tell("created", id)
        if self._limit is not None and len(self._conversations) > self._limit:
            self._evict(self._limit)
        self._log_usage()
        return id

    async def get(self, id: str) -> Conversation | None:
        conversation = self._find(id)
        if conversation is None:
            return None
        return Conversation(
            id,
            [*map(own, conversation.messages.values())],
            conversation.created_at,
            conversation.updated_at,
            json_copy(conversation.metadata, "metadata"),
            conversation.owner,
        )

    async def add_message(self, id: str, message: Message) -> None:
        self._add(id, message)

    async def add_if_new(self, id: str, message: Message) -> bool:
        return self._add(id, message)

    def _add(self, id: str, message: Message) -> bool:
        # This is the most frequent call, so `_find` and `_message_size` are inlined.
        conversation = self._conversations.get(id) if type(id) is str else None
        now = self._time()
        if (
            conversation is None
            or conversation.deadline <= now
            or get_running_loop() is not self._loop
        ):
            conversation = self._find(id)
            if conversation is None:
                raise not_found(id)
        if type(message) is not Message:
            check_message(message)
        messages, key = conversation.messages, message.id
        if key in messages:
            return False
        if message.structured_data is None:
            size_change = _MESSAGE_OVERHEAD + getsizeof(message.content)
        else:
            message = own(message)
            size_change = _message_size(message)
        messages[key] = message
        if len(messages) > self._window:
            oldest = messages.pop(next(iter(messages)))
            if oldest.structured_data is None:
                size_change -= _MESSAGE_OVERHEAD + getsizeof(oldest.content)
            else:
                size_change -= _message_size(oldest)
        self._bytes += size_change
        if self._bytes > LARGE or self._usage_log.warned_at:
            self._usage_log.size_changed(len(self._conversations), self._bytes)
        conversation.updated_at = wall.now()
        conversation.deadline = now + self._lifetime
        if self._hub.followers:
            self._hub.tell("message", id, message)
        return True

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        count, conversation = self._message_count(limit), self._find(id)
        if conversation is None:
            return []
        messages = conversation.messages
        return [*map(own, islice(messages.values(), max(len(messages) - count, 0), None))]

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        updates, conversation = copied(changes), self._find(id)
        if conversation is None:
            raise not_found(id)
        self._bytes -= _conversation_size(conversation)
        conversation.metadata = merged(conversation.metadata, updates)
        self._bytes += _conversation_size(conversation)
        self._usage_log.size_changed(len(self._conversations), self._bytes)
        return json_copy(conversation.metadata, "metadata")

    async def delete(self, id: str) -> None:
        if self._find(id) is not None:
            self._remove(id)
            log.info("conversation %s deleted", id)
            self._hub.tell("deleted", id)
            self._log_usage()

    def events(self, id: str | None = None) -> StoreSubscription:
        return self._hub.follow(None if id is None else check_id(id))

    async def aclose(self) -> None:
        self._hub.end()
        self._sweeper.disarm()
        self._loop = None

    def _reset_for_new_loop(self) -> None:
        self._hub.followers.clear()
        self._sweeper.disarm()
        self._sweeper.arm()

    def _find(self, id: str) -> _MemoryConversation | None:
        """Return a conversation, or None if it does not exist or has expired."""
        if get_running_loop() is not self._loop:
            self._enter()
        conversation = self._conversations.get(id) if type(id) is str else None
        if conversation is None:
            check_id(id)
        elif conversation.deadline <= self._time():
            self._expire(id)
            return None
        return conversation

    def _deadline_of(self, id: str) -> float | None:
        conversation = self._conversations.get(id)
        return None if conversation is None else conversation.deadline

    def _expire(self, id: str) -> None:
        self._remove(id)
        log.info("conversation %s expired after %g s without a message", id, self._ttl or 0)
        self._hub.tell("expired", id)
        self._log_usage()

    def _evict(self, limit: int) -> None:
        while len(self._conversations) > limit:
            id = next(iter(self._conversations))
            self._remove(id)
            log.warning("more than %d conversations: the oldest, %s, was deleted", limit, id)
            self._hub.tell("deleted", id)

    def _remove(self, id: str) -> None:
        conversation = self._conversations.pop(id)
        self._bytes -= _conversation_size(conversation) + sum(
            map(_message_size, conversation.messages.values())
        )

    def _log_usage(self) -> None:
        """Log the number and the size of all conversations, after the number has changed."""
        self._usage_log.count_changed(len(self._conversations), self._bytes)

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_list_owner(owner, below=below)
        self._enter()
        max_entries, now = self._check_list_limit(limit), self._time()
        entries = (
            _entry(id, conversation)
            for id, conversation in reversed(self._conversations.items())
            if conversation.deadline > now and is_of(conversation.owner, owner, below=below)
        )
        return [*islice(entries, max_entries)]


def _entry(id: str, conversation: _MemoryConversation) -> ConversationEntry:
    metadata: dict[str, Any] = (
        json_copy(conversation.metadata, "metadata") if conversation.metadata else {}
    )
    return ConversationEntry(
        id, conversation.created_at, conversation.updated_at, conversation.owner, metadata
    )


def _conversation_size(conversation: _MemoryConversation) -> int:
    """Estimate how many bytes of memory a conversation needs without its messages."""
    size = _CONVERSATION_OVERHEAD + getsizeof(conversation.owner)
    return (
        size + 3 * len(json_codec.encode(conversation.metadata)) if conversation.metadata else size
    )


def _message_size(message: Message) -> int:
    """Estimate how many bytes of memory a message needs."""
    size = _MESSAGE_OVERHEAD + getsizeof(message.content)
    if message.structured_data is not None:
        # Objects take about three times the size of their text.
        size += 3 * len(json_codec.encode(message.structured_data))
    return size
