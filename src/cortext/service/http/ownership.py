"""The conversations of a store, each for its owner only: to all others there is none.

A client may divide its conversations among owners of its own. Those of `anna`, a user of the client
`shop`, are stored as `shop/anna`'s: below the client's name, whatever it says, so that it reaches
its own and nobody else's.
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
    """Every method raises SessionNotFoundError for what is missing and for what is foreign, in the
    same words, and InvalidIdError for what could not be an id. `owner` is who asks, `whose` one of
    their own owners: "" is none of these, None any."""

    def __init__(self, store: Conversations) -> None:
        self.store = store
        # An id is never given twice and its owner never changes, so what is known stays true.
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
        """The conversation, and whether it is new."""
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
        """The message with this id, of a conversation whose owner was checked; None if it is not in
        the window."""
        found = (each for each in await self.store.get_history(id) if each.id == message)
        return next(found, None)

    async def history(self, owner: str, id: str, limit: int | None) -> Messages:
        await self._check(owner, id)
        found = await self.store.get_history(id, limit)
        if not found:
            # It may have expired since its owner was known.
            await self.get(owner, id)
        return found

    async def summary(self, owner: str, id: str) -> ConversationSummary:
        return summarize((await self.get(owner, id)).messages)

    async def set_metadata(self, owner: str, id: str, changes: Mapping[str, Any]) -> Conversation:
        """The conversation as it is then."""
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
        """The conversation, unless there is none, or it is somebody else's."""
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
    """All conversations of a store, whoever asks: for the person who can open it anyway."""

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
    """Under which name a store has the conversations of a client, or those of one of its owners.
    The name of a client has no `/` there: what is below one is never another."""
    name = owner.replace("%", "%25").replace("/", "%2F") if "/" in owner or "%" in owner else owner
    return f"{name}/{whose}" if whose else name


def shown(owner: str, found: str) -> str:
    """What a client calls the owner of a conversation that it has: as it said, or itself."""
    name = stored(owner)
    return owner if found == name else found[len(name) + 1 :]


def _reaches(owner: str, found: str) -> bool:
    return is_of(found, stored(owner), below=True)
