"""The conversations of a store, each for its owner only: to all others there is none."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cortext.conversations.base import Conversations
from cortext.conversations.events import log
from cortext.conversations.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.conversations.summaries import summarize
from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.model.ids import check_id

_MOST_KNOWN = 20_000


class Owned:
    """Every method raises SessionNotFoundError for what is missing and for what is foreign, in the
    same words, and InvalidIdError for what could not be an id."""

    def __init__(self, store: Conversations) -> None:
        self.store = store
        # An id is never given twice and its owner never changes, so what is known stays true.
        self._owners: OrderedDict[str, str] = OrderedDict()

    async def create(self, owner: str, metadata: Mapping[str, Any]) -> Conversation:
        id = await self.store.create(owner=owner, metadata=metadata)
        return await self.get(owner, id)

    async def get(self, owner: str, id: str) -> Conversation:
        found = await self.store.get(check_id(id))
        if found is None or found.owner != owner:
            raise SessionNotFoundError(id)
        self._know(id, found.owner)
        return found

    async def get_or_create(
        self, owner: str, id: str, metadata: Mapping[str, Any]
    ) -> tuple[Conversation, bool]:
        """The conversation, and whether it is new."""
        try:
            return await self.get(owner, id), False
        except SessionNotFoundError:
            made = await self.create(owner, metadata)
            log.info("conversation %s was not found: %s was created", id, made.id)
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

    async def delete(self, owner: str, id: str) -> None:
        await self.get(owner, id)
        await self.store.delete(id)

    async def entries(
        self, owner: str, limit: int, until: datetime | None = None
    ) -> list[ConversationEntry]:
        if until is None:
            return await self.store.list(owner=owner, limit=limit)
        last = until if until.tzinfo else until.replace(tzinfo=UTC)
        found = await self.store.list(owner=owner, limit=None)
        return [entry for entry in found if entry.created_at <= last][:limit]

    async def titled(self, owner: str, limit: int) -> list[Conversation]:
        """The newest of them, with their messages. One may go away while they are listed; one that
        cannot be read is left out, and logged."""
        entries = await self.entries(owner, limit)
        found = await asyncio.gather(*(self._find(each.id) for each in entries))
        return [each for each in found if each is not None]

    async def _find(self, id: str) -> Conversation | None:
        try:
            return await self.store.get(id)
        except SessionCorruptedError as error:
            log.warning("conversation %s is not shown: %s", id, error)
            return None

    async def _check(self, owner: str, id: str) -> None:
        known = self._owners.get(id)
        if known is None:
            await self.get(owner, id)
        elif known != owner:
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
        self, owner: str, limit: int, until: datetime | None = None
    ) -> list[ConversationEntry]:
        return await self.store.list(limit=limit)
