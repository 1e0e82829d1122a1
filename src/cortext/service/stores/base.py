"""The base class of all conversation stores of cortext.

`port.py` explains the terms window, TTL, limit and structured data.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self

from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.model.ids import check_id
from cortext.service.stores.conversation_events import Subscription
from cortext.service.stores.ordinal_references import Reference, resolve
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)
from cortext.service.stores.routing_summary import summarize

log: logging.Logger = logging.getLogger("cortext.conversations")

MOST = 2**31 - 1
"""The largest value for the window and the limit. It also stands for an unlimited window."""


class Conversations(ABC):
    """A conversation store: the methods of `ConversationStore`, and methods built on them.

    Use the store in `async with`, or call `aclose` at the end to close connections and files.

    `window` is the maximum number of messages that are returned for a conversation. `ttl` is the
    number of seconds without a message after which a conversation expires. `limit` is the maximum
    number of conversations. None means unlimited. 0 and other invalid values raise ValueError.
    """

    def __init__(
        self, mode: str, *, window: int | None, ttl: float | None, limit: int | None
    ) -> None:
        self._window = MOST if window is None else _check_whole_number("window", window)
        self._ttl = _check_ttl(ttl)
        self._limit = None if limit is None else _check_whole_number("max_conversations", limit)
        self._loop: asyncio.AbstractEventLoop | None = None
        log.info("conversation storage mode: %s", mode)

    @abstractmethod
    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """Create an empty conversation and return its id.

        `owner` is the name of the user or program to whom the conversation belongs; "" means no
        owner. `metadata` is any JSON object to store with the conversation. If there are then more
        conversations than the limit, the oldest ones are removed.
        """

    @abstractmethod
    async def get(self, id: str) -> Conversation | None: ...

    @abstractmethod
    async def add_if_new(self, id: str, message: Message) -> bool:
        """Append a message as `add_message` does, and return whether it was added.

        The result is False if a message with the same id is already stored.
        """

    @abstractmethod
    async def get_history(self, id: str, limit: int | None = None) -> Messages: ...

    @abstractmethod
    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a conversation, and return all its metadata.

        `changes` maps keys to their new values. The value None removes a key. Keys that are not in
        `changes` stay. `updated_at` and the time of expiry do not change. SessionNotFoundError is
        raised if the conversation does not exist.
        """

    @abstractmethod
    async def delete(self, id: str) -> None: ...

    async def mark(self, id: str) -> object:
        """Return a fingerprint of a conversation, to detect changes that `events` does not report.

        If two fingerprints differ, the conversation has changed between the two calls, for example
        through another process. A store whose `events` report every change always returns None.
        """
        return None

    @abstractmethod
    def events(self, id: str | None = None) -> Subscription:
        """Return a subscription to the events of the conversation `id`, or of all conversations.

        Use it as `async with store.events() as events: async for event in events`. The subscription
        begins with `async with`, and ends when the store is closed. If no conversation has the id,
        no error is raised.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close connections and files, stop timers, and end all event subscriptions.

        The store can be used again afterwards.
        """

    async def get_or_create(
        self,
        id: str | None = None,
        *,
        owner: str | None = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """Return the conversation `id` if it belongs to `owner`, or create a new conversation.

        A new conversation gets a new id, this owner and this metadata. A text that cannot be an id
        is treated as an unknown id.

        If `owner` is "", only a conversation without an owner is returned. If `owner` is None, the
        conversation may have any owner, and a new conversation has no owner.
        """
        if owner is not None:
            check_owner(owner)
        if id and is_valid_id(id):
            existing = await self.get(id)
            if existing is not None and owner in (None, existing.owner):
                return existing
        new_id = await self.create(owner=owner or "", metadata=metadata)
        if id:
            log_replaced_id(id, new_id)
        new = await self.get(new_id)
        if new is None:
            raise not_found(new_id)
        return new

    async def summary(self, id: str) -> ConversationSummary | None:
        """Return a short summary of a conversation, or None if the conversation does not exist.

        A program can use the summary to decide which agent answers the next message.
        """
        conversation = await self.get(id)
        return None if conversation is None else summarize(conversation.messages)

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation, and restart its TTL (the time until it expires).

        Do nothing if a message with the same id is already stored. SessionNotFoundError is raised
        if the conversation does not exist.
        """
        await self.add_if_new(id, message)

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """Return the item that `text` names, or describes with words such as "the second one".

        The items are in the structured data of earlier messages, for example in a list of search
        results.
        """
        return resolve(text, await self.get_history(id))

    def addMessage(self, id: str, message: Message) -> Coroutine[Any, Any, None]:
        """Call `add_message`. The name `addMessage` comes from spec 004."""
        return self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Coroutine[Any, Any, Messages]:
        """Call `get_history`. The name `getHistory` comes from spec 004."""
        return self.get_history(id, limit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _enter(self) -> None:
        """Attach the store to the running event loop.

        Every method that needs the event loop calls this first. CortextError is raised if the store
        is attached to another event loop that is still running.
        """
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and self._loop.is_running():
            raise CortextError(
                "this conversation store is already used by another running event loop",
                hint="open one store for each event loop",
            )
        self._loop = loop
        self._reset_for_new_loop()

    @abstractmethod
    def _reset_for_new_loop(self) -> None:
        """Discard the connections, timers and subscriptions of an earlier event loop.

        `_enter` calls this method when it attaches the store to another event loop.
        """

    def _message_count(self, limit: int | None) -> int:
        """Return how many messages to read for `limit`: at most the window.

        None as `limit` means the window. ValueError is raised for an invalid limit.
        """
        if limit is None:
            return self._window
        if type(limit) is not int or limit < 0:
            raise ValueError(f"limit must be a whole number from 0, not {limit!r}")
        return min(limit, self._window)

    def _check_list_limit(self, limit: int | None) -> int | None:
        """Return how many entries `list` may return for `limit`; None means all.

        ValueError is raised for an invalid limit.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"limit must be a whole number from 0, or None for all, not {limit!r}")
        return None if limit is None else min(limit, MOST)

    @abstractmethod
    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        """Return conversations without their messages, the newest first (by `created_at`).

        At most `limit` conversations are returned; None means all. If `owner` is given, only the
        conversations of this owner are returned; "" means conversations without an owner. With
        `below`, `owner` also means all owners whose names start with the owner's name and a `/`.
        For example, "team" then also means "team/anna".

        ValueError is raised if `limit` is negative or not a whole number. With `below`, ValueError
        is also raised if `owner` is None or contains a `/`.
        """


def not_found(id: str) -> SessionNotFoundError:
    """Return the error for a conversation that does not exist, with a hint for the caller."""
    error = SessionNotFoundError(id)
    error.hint = (
        "it may have expired or been removed; `get_or_create` returns it or a new conversation"
    )
    return error


def check_message(message: Message) -> Message:
    """Return `message`, or raise ValueError if it is not a Message."""
    if type(message) is not Message:
        raise ValueError(f"a message must be a Message, not {type(message).__name__}")
    return message


def is_valid_id(id: str) -> bool:
    """Return whether a string is a valid id. InvalidIdError is raised if `id` is not a string."""
    try:
        check_id(id)
    except InvalidIdError:
        if type(id) is not str:
            raise
        return False
    return True


def log_replaced_id(id: str, made: str) -> None:
    """Log that a new conversation was created because the conversation `id` was not found.

    `made` is the id of the new conversation. `id` may be any text from a client, so an invalid id
    is shortened and escaped in the log.
    """
    shown_id = id if is_valid_id(id) else ascii(id[:60])
    log.info("conversation %s was not found: %s was created", shown_id, made)


def check_owner(owner: str) -> None:
    if type(owner) is not str:
        raise ValueError(f"owner must be a string, not {type(owner).__name__}")


def check_list_owner(owner: str | None, *, below: bool) -> None:
    """Raise ValueError if the arguments `owner` and `below` of `list` are invalid.

    With `below`, `owner` must be a name without a `/`.
    """
    if owner is not None:
        check_owner(owner)
    if below and (owner is None or "/" in owner):
        raise ValueError(f"below needs an owner without '/' in the name, not {owner!r:.60}")


def is_of(whose: str, owner: str | None, *, below: bool) -> bool:
    """Return whether `list`, called with `owner` and `below`, returns conversations of `whose`.

    `whose` is the owner of a conversation.
    """
    return owner in (None, whose) or (below and whose.startswith(f"{owner}/"))


def _check_whole_number(name: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MOST:
        raise ValueError(
            f"{name} must be a whole number from 1 to {MOST}, or None for no limit, "
            f"not {value!r:.60}"
        )
    return value


def _check_ttl(ttl: Any) -> float | None:
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 < ttl < 1e9:
        raise ValueError(f"ttl must be seconds above 0, or None for no expiry, not {ttl!r:.60}")
    return float(ttl)
