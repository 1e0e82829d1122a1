"""An adapter that lets the HTTP service use any class with the five methods of a store."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from cortext import clock
from cortext.errors import SessionStorageError
from cortext.model.ids import check_id
from cortext.service.stores.base import (
    Conversations,
    check_list_owner,
    check_message,
    check_owner,
    is_of,
    not_found,
)
from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.metadata import copied, merged
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationStore,
    IdempotentConversationStore,
    Message,
    Messages,
    own,
)

log: logging.Logger = logging.getLogger("cortext.conversations")

METHODS = ("create", "get", "add_message", "get_history", "delete")
"""The five required methods. Any class that has them is a ConversationStore."""
_MAX_REMEMBERED = 100_000
"""The maximum number of conversations whose owner and metadata this process remembers."""


def adapt_store(store: ConversationStore) -> Conversations:
    """Return a store with all methods that the HTTP service needs, based on any ConversationStore.

    A store of cortext is returned unchanged. Any other store gets a wrapper, which adds the missing
    methods in this process. These methods have weaker guarantees:

    - Owners and metadata are kept in the memory of this process. After a restart, and in other
      processes, a conversation has the owner and the metadata that `store.get` returns. A store
      that knows no owners returns the owner "", and a client that has a name cannot open such a
      conversation.
    - `list` returns only conversations that were created through the wrapper, or whose metadata was
      set through the wrapper.
    - `events` reports only changes that were made through the wrapper. To find other changes, an
      event stream of the HTTP service checks the conversation every second.
    - A repeated message may be stored twice if its id is no longer in `get_history`, or if another
      process adds the message at the same moment. This does not apply to an
      IdempotentConversationStore, which itself recognizes repeated messages.
    - `store` itself applies window, TTL and limit.

    The `aclose` of the wrapper calls `store.aclose`, if `store` has this method.
    """
    return store if isinstance(store, Conversations) else _AdaptedStore(store)


class _Note(Struct):
    """What this process remembers about a conversation.

    If `metadata` is None, the metadata comes from the adapted store.
    """

    created_at: datetime
    owner: str
    metadata: dict[str, Any] | None = None


class _AdaptedStore(Conversations):
    def __init__(self, store: ConversationStore) -> None:
        super().__init__(f"custom ({type(store).__name__})", window=None, ttl=None, limit=None)
        self._store = store
        self._hub = Hub(self._enter)
        self._notes: OrderedDict[str, _Note] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        self._enter()
        check_owner(owner)
        metadata_copy = copied(metadata)
        id = check_id(await self._store.create())
        self._remember(id, _Note(clock.now(), owner, metadata_copy))
        log.info("conversation %s created", id)
        self._hub.tell("created", id)
        return id

    async def get(self, id: str) -> Conversation | None:
        self._enter()
        conversation = await self._store.get(check_id(id))
        if conversation is None:
            self._notes.pop(id, None)
            return None
        note = self._notes.get(id) or _Note(conversation.created_at, conversation.owner)
        metadata = conversation.metadata if note.metadata is None else note.metadata
        messages = [*map(own, conversation.messages)]
        return replace(conversation, messages=messages, owner=note.owner, metadata=copied(metadata))

    async def add_if_new(self, id: str, message: Message) -> bool:
        self._enter()
        check_id(id)
        check_message(message)
        if isinstance(self._store, IdempotentConversationStore):
            is_new = await self._store.add_if_new(id, message)
        else:
            is_new = await self._add_unless_stored(id, message)
        if is_new:
            self._hub.tell("message", id, message)
        return is_new

    async def _add_unless_stored(self, id: str, message: Message) -> bool:
        async with self._lock(id):
            if any(each.id == message.id for each in await self._store.get_history(id)):
                return False
            try:
                await self._store.add_message(id, message)
            except LookupError:
                # A store based on a dict raises KeyError for an unknown id.
                if await self._store.get(id) is None:
                    raise not_found(id) from None
                raise
        return True

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        self._enter()
        check_id(id)
        count = self._message_count(limit)
        if not count:
            return []
        if limit is None:
            messages = await self._store.get_history(id)
        else:
            messages = await self._store.get_history(id, limit)
        return [*map(own, messages[-count:])]

    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        updates = copied(changes)
        async with self._lock(id):
            conversation = await self.get(id)
            if conversation is None:
                raise not_found(id)
            new_metadata = merged(conversation.metadata, updates)
            self._remember(id, _Note(conversation.created_at, conversation.owner, new_metadata))
        return copied(new_metadata)

    async def mark(self, id: str) -> object:
        """Return a fingerprint of a conversation. It changes when any process adds a message."""
        try:
            conversation = await self._store.get(check_id(id))
        except SessionStorageError as error:
            return type(error)
        if conversation is None:
            return None
        return conversation.updated_at, [each.id for each in conversation.messages[-1:]]

    async def delete(self, id: str) -> None:
        self._enter()
        existed = await self._store.get(check_id(id)) is not None
        await self._store.delete(id)
        self._notes.pop(id, None)
        if existed:
            log.info("conversation %s deleted", id)
            self._hub.tell("deleted", id)

    def events(self, id: str | None = None) -> StoreSubscription:
        return self._hub.follow(None if id is None else check_id(id))

    async def aclose(self) -> None:
        self._hub.end()
        self._loop = None
        aclose = getattr(self._store, "aclose", None)
        if aclose is not None:
            await aclose()

    def _reset_for_new_loop(self) -> None:
        self._hub.followers.clear()
        self._locks.clear()

    def _lock(self, id: str) -> asyncio.Lock:
        return self._locks.setdefault(id, asyncio.Lock())

    def _remember(self, id: str, note: _Note) -> None:
        self._notes[id] = note
        if len(self._notes) > _MAX_REMEMBERED:
            forgotten_id, _ = self._notes.popitem(last=False)
            log.warning(
                "the owner of conversation %s is forgotten: too many are known", forgotten_id
            )

    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        check_list_owner(owner, below=below)
        self._enter()
        max_entries = self._check_list_limit(limit)
        order = sorted(self._notes.items(), key=lambda item: item[1].created_at, reverse=True)
        entries: list[ConversationEntry] = []
        for id, note in order:
            if max_entries is not None and len(entries) >= max_entries:
                break
            conversation = await self.get(id) if is_of(note.owner, owner, below=below) else None
            if conversation is not None:
                entries.append(_entry(conversation))
        return entries


def _entry(conversation: Conversation) -> ConversationEntry:
    return ConversationEntry(
        conversation.id,
        conversation.created_at,
        conversation.updated_at,
        conversation.owner,
        conversation.metadata,
    )
