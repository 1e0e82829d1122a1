"""Access to a store by client: no client sees the conversations of another client.

A client may divide its conversations among its users. The conversations of the user `anna` of the
client `shop` are stored with the owner `shop/anna`. The client's name always comes first, so a
client reaches only its own conversations.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from cortext.errors import SessionNotFoundError
from cortext.model.ids import check_id
from cortext.service.stores.base import Conversations, could_be, is_of, tell_of_new
from cortext.service.stores.conversation_summary import summarize
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)

_MOST_KNOWN = 20_000


class Owned:
    """A store whose methods check that a conversation belongs to the client that makes the request.

    In all methods, `owner` is the client, and `whose` is one of the client's users. A `whose` of ""
    means conversations without a user, and None means those of any user. For a conversation of
    another client, the methods raise SessionNotFoundError, as for a missing conversation. They
    raise InvalidIdError for text that cannot be an id.
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
        found = await self._own(owner, check_id(id))
        if found is None:
            raise SessionNotFoundError(id)
        return found

    async def get_or_create(
        self, owner: str, id: str, metadata: Mapping[str, Any], whose: str | None = ""
    ) -> tuple[Conversation, bool]:
        """Return the conversation `id` and False. If it is missing, return a new one and True.

        The new conversation gets a new id, and `metadata`. A conversation that does not belong to
        the client's user `whose` counts as missing.
        """
        found = await self._own(owner, id) if could_be(id) else None
        if found is not None and (whose is None or self._owners[id] == stored(owner, whose)):
            return found, False
        made = await self.create(owner, metadata, whose or "")
        tell_of_new(id, made.id)
        return made, True

    async def add(self, owner: str, id: str, message: Message) -> bool:
        await self._check(owner, id)
        return await self.store.add_if_new(id, message)

    async def message(self, id: str, message: str | None) -> Message | None:
        """Return a message of the conversation `id`; `message` is the message's id.

        Return None if the store no longer has the message. This method does not check the owner of
        the conversation: the caller must have done that.
        """
        found = (each for each in await self.store.get_history(id) if each.id == message)
        return next(found, None)

    async def history(self, owner: str, id: str, limit: int | None) -> Messages:
        await self._check(owner, id)
        found = await self.store.get_history(id, limit)
        if not found:
            # `get` raises if the conversation has expired since its owner was cached.
            await self.get(owner, id)
        return found

    async def summary(self, owner: str, id: str) -> ConversationSummary:
        return summarize((await self.get(owner, id)).messages)

    async def set_metadata(self, owner: str, id: str, changes: Mapping[str, Any]) -> Conversation:
        """Change the given keys of a conversation's metadata, and return the conversation."""
        await self._check(owner, id)
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
        most = limit if until is None else None
        if whose is None:
            found = await self.store.list(owner=stored(owner), limit=most, below=True)
        else:
            found = await self.store.list(owner=stored(owner, whose), limit=most)
        if until is not None:
            last = until if until.tzinfo else until.replace(tzinfo=UTC)
            found = [entry for entry in found if entry.created_at <= last][:limit]
        return [replace(entry, owner=shown(owner, entry.owner)) for entry in found]

    async def _own(self, owner: str, id: str) -> Conversation | None:
        """Return the conversation; None if it does not exist or belongs to another client."""
        found = await self.store.get(id)
        if found is None or not _reaches(owner, found.owner):
            return None
        self._know(id, found.owner)
        found.owner = shown(owner, found.owner)
        return found

    async def _check(self, owner: str, id: str) -> None:
        known = self._owners.get(id)
        if known is None:
            await self.get(owner, id)
        elif not _reaches(owner, known):
            raise SessionNotFoundError(id)

    def _know(self, id: str, owner: str) -> None:
        self._owners[id] = owner
        if len(self._owners) > _MOST_KNOWN:
            self._owners.popitem(last=False)


class EveryOwner(Owned):
    """A store in which every caller sees the conversations of all owners.

    `cortext web` uses this class for the user of this machine, who can open the store anyway.
    """

    async def get(self, owner: str, id: str) -> Conversation:
        found = await self.store.get(check_id(id))
        if found is None:
            raise SessionNotFoundError(id)
        return found

    async def entries(
        self,
        owner: str,
        limit: int,
        until: datetime | None = None,
        whose: str | None = None,
    ) -> list[ConversationEntry]:
        return await self.store.list(limit=limit)


def stored(owner: str, whose: str = "") -> str:
    """Return the owner name that the store uses for a client, or for the client's user `whose`.

    A `/` in the client's name is escaped, so `a/b` is always the user `b` of the client `a`.
    """
    name = owner.replace("%", "%25").replace("/", "%2F") if "/" in owner or "%" in owner else owner
    return f"{name}/{whose}" if whose else name


def shown(owner: str, found: str) -> str:
    """Return the owner name that a client sees: the client's own name, or the name of its user.

    `found` is the owner name that the store uses, as `stored` returns it.
    """
    name = stored(owner)
    return owner if found == name else found[len(name) + 1 :]


def _reaches(owner: str, found: str) -> bool:
    return is_of(found, stored(owner), below=True)
