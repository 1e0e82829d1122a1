"""The base class of the conversation stores of cortext. `port.py` explains the terms."""

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
from cortext.service.stores.conversation_summary import summarize
from cortext.service.stores.ordinal_references import Reference, resolve
from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationSummary,
    Message,
    Messages,
)

log: logging.Logger = logging.getLogger("cortext.conversations")

MOST = 2**31 - 1
"""The largest accepted window and limit. It also stands for an unlimited window."""


class Conversations(ABC):
    """A conversation store: the five methods of the port, and methods that are built on them.

    Use the store in `async with`, or call `aclose` at the end to close connections and files.

    None for `window`, `ttl` or `limit` means unlimited: all messages are returned, nothing expires,
    or any number of conversations is stored. 0 and other invalid values raise ValueError.
    """

    def __init__(
        self, mode: str, *, window: int | None, ttl: float | None, limit: int | None
    ) -> None:
        self._window = MOST if window is None else _whole("window", window)
        self._ttl = _seconds(ttl)
        self._limit = None if limit is None else _whole("max_conversations", limit)
        self._loop: asyncio.AbstractEventLoop | None = None
        log.info("conversation storage mode: %s", mode)

    @abstractmethod
    async def create(self, *, owner: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """Create an empty conversation and return its id, as `ConversationStore.create` does.

        `owner` is the name of the user or program that the conversation belongs to; "" means no
        owner. `metadata` is any JSON object that is stored with the conversation.
        """

    @abstractmethod
    async def get(self, id: str) -> Conversation | None: ...

    @abstractmethod
    async def add_if_new(self, id: str, message: Message) -> bool:
        """Add a message as `add_message` does, and return whether it was added.

        The result is False if a message with the same id is already stored.
        """

    @abstractmethod
    async def get_history(self, id: str, limit: int | None = None) -> Messages: ...

    @abstractmethod
    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Set the keys in `changes` in the metadata of a conversation, and return all metadata.

        A key whose value is None is removed. Keys that `changes` does not contain stay as they are.
        `updated_at` does not change and the TTL is not restarted. SessionNotFoundError is raised if
        the conversation does not exist.
        """

    @abstractmethod
    async def delete(self, id: str) -> None: ...

    async def mark(self, id: str) -> object:
        """Return a value that differs after changes that `events` does not report.

        A caller can compare two values to notice such changes, for example by other processes. None
        means that `events` reports every change.
        """
        return None

    @abstractmethod
    def events(self, id: str | None = None) -> Subscription:
        """Return a subscription to the events of one conversation, or of all if `id` is None.

        Use it as `async with store.events() as events: async for event in events`. The events are
        those from then until the store is closed. An unknown id is not an error.
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
        """Return the conversation `id` if it belongs to `owner`. Otherwise create a new one.

        A new conversation gets a new id, this owner and this metadata. A text that cannot be an id
        is treated as an unknown id.

        "" as `owner` means no owner, as in `create`. So a program that never names owners finds
        every conversation that it created. A conversation that has an owner is returned only if
        that owner is named.

        None as `owner` means any owner, for callers that may see everything. A new conversation
        then has no owner.
        """
        if owner is not None:
            check_owner(owner)
        if id and could_be(id):
            found = await self.get(id)
            if found is not None and owner in (None, found.owner):
                return found
        made = await self.create(owner=owner or "", metadata=metadata)
        if id:
            tell_of_new(id, made)
        new = await self.get(made)
        if new is None:
            raise not_found(made)
        return new

    async def summary(self, id: str) -> ConversationSummary | None:
        """Return a short summary of a conversation, or None if the conversation does not exist.

        A program can use it to decide which agent answers the next message.
        """
        found = await self.get(id)
        return None if found is None else summarize(found.messages)

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation and restart its TTL.

        Do nothing if a message with the same id is already stored. SessionNotFoundError is raised
        if the conversation does not exist.
        """
        await self.add_if_new(id, message)

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """Return the item that `text` names or refers to, as in "the second one", "it", "the last".

        The item comes from the structured data of earlier messages, for example from a list of
        search results.
        """
        return resolve(text, await self.get_history(id))

    def addMessage(self, id: str, message: Message) -> Coroutine[Any, Any, None]:
        """Call `add_message`. This is its name in the service's interface."""
        return self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Coroutine[Any, Any, Messages]:
        """Call `get_history`. This is its name in the service's interface."""
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

        CortextError is raised if another event loop that still runs uses the store.
        """
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and self._loop.is_running():
            raise CortextError(
                "this conversation store is in use in another running event loop",
                hint="open one store for each loop",
            )
        self._loop = loop
        self._moved()

    @abstractmethod
    def _moved(self) -> None:
        """Discard connections, timers and subscriptions of an earlier event loop.

        `_enter` calls this method when it attaches the store to a new event loop.
        """

    def _count(self, limit: int | None) -> int:
        """Return how many messages to return: `limit`, but never more than the window."""
        if limit is None:
            return self._window
        if type(limit) is not int or limit < 0:
            raise ValueError(f"limit is a whole number from 0, not {limit!r}")
        return min(limit, self._window)

    def _most(self, limit: int | None) -> int | None:
        """Check the `limit` of `list` and return how many conversations to list; None means all."""
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"limit is a whole number from 0, or None for all, not {limit!r}")
        return None if limit is None else min(limit, MOST)

    @abstractmethod
    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        """Return conversations without their messages, newest first by `created_at`.

        At most `limit` conversations are returned; None means all. With `owner`, only the
        conversations of this owner are returned. "" selects the conversations without an owner.

        With `below`, the conversations of owners whose names start with `OWNER/` are included. For
        example, "team" then includes "team/anna".

        ValueError is raised if `limit` is negative or not a whole number. With `below`, ValueError
        is also raised if `owner` is None or contains a `/`.
        """


def not_found(id: str) -> SessionNotFoundError:
    """Return the SessionNotFoundError for a conversation, with a hint for the caller."""
    error = SessionNotFoundError(id)
    error.hint = (
        "it never was, expired or gave way to others: `get_or_create` gives it or a new one"
    )
    return error


def check_message(message: Message) -> Message:
    """Return `message` unchanged. ValueError is raised if it is not a Message."""
    if type(message) is not Message:
        raise ValueError(f"a message is a Message, not {type(message).__name__}")
    return message


def could_be(id: str) -> bool:
    """Return whether a text is valid as an id. InvalidIdError is raised if `id` is not a string."""
    try:
        check_id(id)
    except InvalidIdError:
        if type(id) is not str:
            raise
        return False
    return True


def tell_of_new(id: str, made: str) -> None:
    """Log that the conversation `made` was created because `id` was not found.

    A client may send any text as an id, so an invalid id is shortened and escaped in the log.
    """
    shown = id if could_be(id) else ascii(id[:60])
    log.info("conversation %s was not found: %s was created", shown, made)


def check_owner(owner: str) -> None:
    if type(owner) is not str:
        raise ValueError(f"owner is text, not {type(owner).__name__}")


def check_owners(owner: str | None, *, below: bool) -> None:
    """Check the arguments `owner` and `below` of `list`. ValueError is raised if they are invalid.

    `below` needs an owner whose name contains no `/`.
    """
    if owner is not None:
        check_owner(owner)
    if below and (owner is None or "/" in owner):
        raise ValueError(f"below is for an owner whose name has no '/', not {owner!r:.60}")


def is_of(whose: str, owner: str | None, *, below: bool) -> bool:
    """Return whether a conversation that belongs to `whose` is listed for `owner`.

    None as `owner` lists all conversations. With `below`, owners whose names start with `OWNER/`
    are included.
    """
    return owner in (None, whose) or (below and whose.startswith(f"{owner}/"))


def _whole(name: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= MOST:
        raise ValueError(
            f"{name} is a whole number from 1 to {MOST}, or None for no bound, not {value!r:.60}"
        )
    return value


def _seconds(ttl: Any) -> float | None:
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 < ttl < 1e9:
        raise ValueError(f"ttl is a number of seconds above 0, or None for ever, not {ttl!r:.60}")
    return float(ttl)
