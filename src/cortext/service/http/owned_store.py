"""A store in which no client sees the conversations of another client.

A client may assign its conversations to its users. The conversations of the user `anna` of the
client `shop` are stored with the owner `shop/anna`. The stored owner always begins with the name of
the client, so a client reaches only its own conversations.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from cortext.errors import SessionNotFoundError
from cortext.model.ids import check_id
from cortext.service.stores.base import Conversations, is_of, is_valid_id, log_replaced_id
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.service.stores.routing_summary import summarize

_MAX_CACHED = 20_000


class OwnedStore:
    """A store that checks in every call that the conversation belongs to the client.

    In all methods, `owner` is the client that makes the request, and `whose` is a user of this
    client. If `whose` is "", conversations without a user are meant. If `whose` is None,
    conversations of any user are meant.

    If a conversation is missing or belongs to another client, the methods raise
    SessionNotFoundError. If a text cannot be an id, they raise InvalidIdError.
    """

    def __init__(self, store: Conversations) -> None:
        self.store = store
        # Ids are never reused and owners never change, so a cached owner stays valid.
        self._owners: OrderedDict[str, str] = OrderedDict()

    async def create(
        self, owner: str, metadata: Mapping[str, Any], whose: str = ""
    ) -> Conversation:
        id = await self.store.create(owner=stored(owner, whose), metadata=metadata)
        return await self.get(owner, id)

    async def get(self, owner: str, id: str) -> Conversation:
        conversation = await self._find_own(owner, check_id(id))
        if conversation is None:
            raise SessionNotFoundError(id)
        return conversation

    async def get_or_create(
        self, owner: str, id: str, metadata: Mapping[str, Any], whose: str | None = ""
    ) -> tuple[Conversation, bool]:
        """Return the conversation `id` and False, or a new conversation and True.

        A new conversation is created if the conversation does not exist or does not belong to the
        user `whose` of the client. The new conversation has a new id and `metadata`.
        """
        existing = await self._find_own(owner, id) if is_valid_id(id) else None
        if existing is not None and (whose is None or self._owners[id] == stored(owner, whose)):
            return existing, False
        new = await self.create(owner, metadata, whose or "")
        log_replaced_id(id, new.id)
        return new, True

    async def add(self, owner: str, id: str, message: Message) -> bool:
        await self._check_owner(owner, id)
        return await self.store.add_if_new(id, message)

    async def message(self, id: str, message: str | None) -> Message | None:
        """Return the message with the id `message` in the conversation `id`.

        Return None if the store does not return this message any more. This method does not check
        the owner of the conversation: the caller must have done that.
        """
        matches = (each for each in await self.store.get_history(id) if each.id == message)
        return next(matches, None)

    async def history(self, owner: str, id: str, limit: int | None) -> Messages:
        await self._check_owner(owner, id)
        messages = await self.store.get_history(id, limit)
        if not messages:
            # `get` raises if the conversation has expired since its owner was cached.
            await self.get(owner, id)
        return messages

    async def summary(self, owner: str, id: str) -> ConversationSummary:
        return summarize((await self.get(owner, id)).messages)

    async def set_metadata(self, owner: str, id: str, changes: Mapping[str, Any]) -> Conversation:
        """Change the metadata of a conversation, and return the conversation.

        `changes` maps keys to their new values. The value None removes a key.
        """
        await self._check_owner(owner, id)
        await self.store.set_metadata(id, changes)
        return await self.get(owner, id)

    async def delete(self, owner: str, id: str) -> None:
        await self.get(owner, id)
        await self.store.delete(id)

    async def entries(
        self,
        owner: str,
        limit: int,
        until: datetime | None = None,
        whose: str | None = None,
    ) -> list[ConversationEntry]:
        store_limit = limit if until is None else None
        if whose is None:
            entries = await self.store.list(owner=stored(owner), limit=store_limit, below=True)
        else:
            entries = await self.store.list(owner=stored(owner, whose), limit=store_limit)
        if until is not None:
            last_time = until if until.tzinfo else until.replace(tzinfo=UTC)
            entries = [entry for entry in entries if entry.created_at <= last_time][:limit]
        return [replace(entry, owner=shown(owner, entry.owner)) for entry in entries]

    async def _find_own(self, owner: str, id: str) -> Conversation | None:
        """Return a conversation, or None if it does not exist or belongs to another client."""
        conversation = await self.store.get(id)
        if conversation is None or not _may_access(owner, conversation.owner):
            return None
        self._cache_owner(id, conversation.owner)
        conversation.owner = shown(owner, conversation.owner)
        return conversation

    async def _check_owner(self, owner: str, id: str) -> None:
        cached = self._owners.get(id)
        if cached is None:
            await self.get(owner, id)
        elif not _may_access(owner, cached):
            raise SessionNotFoundError(id)

    def _cache_owner(self, id: str, owner: str) -> None:
        self._owners[id] = owner
        if len(self._owners) > _MAX_CACHED:
            self._owners.popitem(last=False)


class EveryOwner(OwnedStore):
    """A store in which every caller sees the conversations of all owners.

    `cortext web` uses this class. Its only user is the user of this machine, who may see
    everything.
    """

    async def get(self, owner: str, id: str) -> Conversation:
        conversation = await self.store.get(check_id(id))
        if conversation is None:
            raise SessionNotFoundError(id)
        return conversation

    async def entries(
        self,
        owner: str,
        limit: int,
        until: datetime | None = None,
        whose: str | None = None,
    ) -> list[ConversationEntry]:
        return await self.store.list(limit=limit)


def stored(owner: str, whose: str = "") -> str:
    """Return the owner that the store uses for a client, or for a user of the client.

    `owner` is the client, and `whose` is the user, or "". A `/` in the client's name is escaped, so
    `a/b` is always the user `b` of the client `a`.
    """
    name = owner.replace("%", "%25").replace("/", "%2F") if "/" in owner or "%" in owner else owner
    return f"{name}/{whose}" if whose else name


def shown(owner: str, stored_owner: str) -> str:
    """Return the owner of a conversation as the client `owner` sees it.

    `stored_owner` is the owner in the store, as `stored` returns it. If the conversation belongs to
    a user of the client, the result is the user's name. Otherwise the result is the client's name.
    """
    name = stored(owner)
    return owner if stored_owner == name else stored_owner[len(name) + 1 :]


def _may_access(owner: str, stored_owner: str) -> bool:
    return is_of(stored_owner, stored(owner), below=True)
