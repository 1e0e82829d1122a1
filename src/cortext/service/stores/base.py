"""What every conversation store of ours does alike, over the five methods of the port."""

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
"""As many as there can be."""


class Conversations(ABC):
    """A conversation store: the port, and what follows from it. It can be used as an async
    context manager; without one, `aclose` lets go of what is open, and so does the process's
    end.

    A bound that is None is none: all messages are shown, nothing expires, there is no limit. 0 is
    no bound that could be kept, and a ValueError like any other value that makes no sense.
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
        """As in the port; `owner` is whose it is, for `list`, and `metadata` any JSON object."""

    @abstractmethod
    async def get(self, id: str) -> Conversation | None: ...

    @abstractmethod
    async def add_if_new(self, id: str, message: Message) -> bool:
        """Add the message as `add_message` does, and return whether it was added: False if a
        message with its id is there already."""

    @abstractmethod
    async def get_history(self, id: str, limit: int | None = None) -> Messages: ...

    @abstractmethod
    async def set_metadata(self, id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change these keys of the metadata and no others; one whose value is None goes. All of the
        metadata as it is then. It prolongs nothing and leaves `updated_at` as it is.
        SessionNotFoundError if there is no such conversation."""

    @abstractmethod
    async def delete(self, id: str) -> None: ...

    async def mark(self, id: str) -> object:
        """What changes when something else changes a conversation of which `events` do not tell;
        None where they tell of everything."""
        return None

    @abstractmethod
    def events(self, id: str | None = None) -> Subscription:
        """What happens to a conversation, or to all, from now on and until the store is closed:
        `async with store.events() as events: async for event in events`. An id that is unknown is
        no error: nothing happens to it, so nothing is heard."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of timers, connections and files, and let those who follow end. The store can be
        used again afterwards."""

    async def get_or_create(
        self,
        id: str | None = None,
        *,
        owner: str | None = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """The conversation, if it is this owner's; else a new one of theirs, under another id, with
        this metadata. Text that could be no id is one that is not there.

        The owner "" is nobody, as in `create()`: a program that never names owners finds all that
        it made, and an id alone opens nothing that is somebody's. None is any owner, for who may
        see all; a new conversation is nobody's then.
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
        """What a coordinator needs to route the next message; None without a conversation."""
        found = await self.get(id)
        return None if found is None else summarize(found.messages)

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message unless it is there, and restart the TTL."""
        await self.add_if_new(id, message)

    async def resolve_reference(self, id: str, text: str) -> Reference:
        """What "the second one", "it", "the last" or a name in `text` means, by the structured
        data of earlier messages."""
        return resolve(text, await self.get_history(id))

    def addMessage(self, id: str, message: Message) -> Coroutine[Any, Any, None]:
        """`add_message`, under its name in the service's interface."""
        return self.add_message(id, message)

    def getHistory(self, id: str, limit: int | None = None) -> Coroutine[Any, Any, Messages]:
        """`get_history`, under its name in the service's interface."""
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
        """Work in the running loop from now on; CortextError while another one has the store."""
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
        """Called in a loop that has the store from now on: what belonged to another is void."""

    def _count(self, limit: int | None) -> int:
        """How many messages a caller gets who wants `limit`."""
        if limit is None:
            return self._window
        if type(limit) is not int or limit < 0:
            raise ValueError(f"limit is a whole number from 0, not {limit!r}")
        return min(limit, self._window)

    def _most(self, limit: int | None) -> int | None:
        """How many conversations a caller gets at most who wants `limit`."""
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"limit is a whole number from 0, or None for all, not {limit!r}")
        return None if limit is None else min(limit, MOST)

    @abstractmethod
    async def list(
        self, *, owner: str | None = None, limit: int | None = 50, below: bool = False
    ) -> list[ConversationEntry]:
        """The conversations, or those of an owner ("" is one too), newest first by `created_at`;
        with `below` also those of the owners whose name begins with this one and a `/`. ValueError
        for a limit that is no number from 0, and for `below` an owner whose name has a `/`."""


def not_found(id: str) -> SessionNotFoundError:
    """That there is no such conversation, and what to do about it."""
    error = SessionNotFoundError(id)
    error.hint = (
        "it never was, expired or gave way to others: `get_or_create` gives it or a new one"
    )
    return error


def check_message(message: Message) -> Message:
    """`message` itself; ValueError for anything else, before it gets anywhere."""
    if type(message) is not Message:
        raise ValueError(f"a message is a Message, not {type(message).__name__}")
    return message


def could_be(id: str) -> bool:
    """Whether this text could be an id; InvalidIdError for what is no text."""
    try:
        check_id(id)
    except InvalidIdError:
        if type(id) is not str:
            raise
        return False
    return True


def tell_of_new(id: str, made: str) -> None:
    """An id of a client's may be any text, and a log has lines."""
    shown = id if could_be(id) else ascii(id[:60])
    log.info("conversation %s was not found: %s was created", shown, made)


def check_owner(owner: str) -> None:
    if type(owner) is not str:
        raise ValueError(f"owner is text, not {type(owner).__name__}")


def check_owners(owner: str | None, *, below: bool) -> None:
    """Whose conversations can be listed."""
    if owner is not None:
        check_owner(owner)
    if below and (owner is None or "/" in owner):
        raise ValueError(f"below is for an owner whose name has no '/', not {owner!r:.60}")


def is_of(whose: str, owner: str | None, *, below: bool) -> bool:
    """Whether a conversation of this owner is in the list of that one."""
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
