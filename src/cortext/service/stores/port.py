"""The port of conversation stores. Its docstrings are the contract, which
`tests/service/stores/conformance.py` executes over every store.

Terms: the *window* is how many of the last messages a conversation shows; *TTL* is how long it
may be idle, in seconds, before it is removed; the *limit* is how many conversations there may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, to_builtins
from msgspec.structs import force_setattr

from cortext import clock
from cortext.model import record_dicts
from cortext.model.ids import new_id
from cortext.model.json_values import as_utc, json_copy
from cortext.model.message import NO_TIME, ROLES, Role, SessionMessage

WINDOW = 20
TTL = 3600.0
LIMIT = 1000


class Message(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """One message. Nested values are copied on entry and must not be mutated.

    One that is made without an id gets one then, so that adding it twice stores it once.
    """

    role: Role
    content: str
    timestamp: datetime = NO_TIME
    structured_data: Any = None
    id: str | None = None

    def __post_init__(self) -> None:
        if type(self.role) is not str or self.role not in ROLES:
            raise ValueError(f"role is one of {', '.join(sorted(ROLES))}, not {self.role!r:.60}")
        if type(self.content) is not str:
            kind = type(self.content).__name__
            raise ValueError(f"content is text, not {kind}; other things are structured_data")
        at = self.timestamp
        force_setattr(self, "timestamp", clock.now() if at is NO_TIME else as_utc(at))
        if not self.id:
            force_setattr(self, "id", new_id())
        elif type(self.id) is not str:
            raise ValueError(f"id is text, not {type(self.id).__name__}")
        if self.structured_data is not None:
            copied = json_copy(self.structured_data, "structured_data")
            force_setattr(self, "structured_data", copied)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, under the service's names: `role`, `content`, `timestamp` (text),
        `structuredData` if there is any, `id`. For those who keep messages themselves."""
        return to_builtins(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """The inverse; an id and a time that are missing are made. ValueError says what does not
        fit."""
        return record_dicts.convert(
            record_dicts.as_dict(json_copy(data, "the message", around=8)), cls
        )


Messages = list[Message]


class Conversation(Struct, omit_defaults=True, rename="camel"):
    """What a store holds of one conversation now: a snapshot, the caller's own."""

    id: str
    messages: Messages
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, Any] = {}
    owner: str = ""


class ConversationEntry(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One row of a list: a conversation without its messages."""

    id: str
    created_at: datetime
    updated_at: datetime
    owner: str = ""
    metadata: dict[str, Any] = {}


class ConversationSummary(Struct, frozen=True, rename="camel"):
    """What a coordinator needs to route the next message.

    `messages` are the last three, `data` the newest structured data, `types` those of all
    structured data in the window, oldest first, and `text` all of it in one line.
    """

    messages: Messages
    data: Any
    types: Sequence[str]
    text: str


class ConversationStore(Protocol):
    """Where conversations live: the five methods of the service's interface.

    A class with these five methods is a store wherever a ConversationStore is accepted. The HTTP
    service adapts it with `adapt_store`, whose docstring lists what such a store lacks.

    A text that cannot be an id raises InvalidIdError. A store that cannot do its work (a full disk,
    a server that does not answer) raises SessionStorageError within its time-out, and keeps what it
    acknowledged before. A returned value is a snapshot: it does not change, and changing it changes
    nothing in the store. A store belongs to one event loop at a time, and serves another one after
    that loop has ended. A call from a second running loop raises CortextError.
    """

    async def create(self) -> str:
        """Create an empty conversation and return its id, a UUID v4. If there are more than the
        limit then, the oldest by `created_at` are removed, with a warning."""
        ...

    async def get(self, id: str) -> Conversation | None:
        """Return the conversation with the messages of its window; None if there is none."""
        ...

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message and restart the TTL. The oldest messages leave the window.

        SessionNotFoundError if there is no such conversation. A message whose id is still in
        the window is not stored twice and prolongs nothing, so an add that failed can simply be
        repeated. `updated_at` and the TTL go by the store's time, not by the message's.
        """
        ...

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last messages in the order in which they were added, at most the window and
        at most `limit`; none if there is no such conversation. Reading does not prolong its
        life."""
        ...

    async def delete(self, id: str) -> None:
        """Remove the conversation for good, and log that; nothing happens if there is none."""
        ...


@runtime_checkable
class IdempotentConversationStore(ConversationStore, Protocol):
    """A store that tells whether an add was a repetition. Every store of cortext is one, and so is
    `AsyncClient`."""

    async def add_if_new(self, id: str, message: Message) -> bool:
        """Add the message as `add_message` does, and return whether it was added: False if a
        message with its id is there already."""
        ...


def own(message: Message) -> Message:
    """The message for somebody to keep: its nested values are nobody else's."""
    if message.structured_data is None:
        return message
    return Message(
        message.role, message.content, message.timestamp, message.structured_data, message.id
    )


def to_session_message(message: Message) -> SessionMessage:
    return SessionMessage(
        message.role,
        message.content,
        message.timestamp,
        message.id or "",
        structured_data=message.structured_data,
    )


def from_session_message(message: SessionMessage) -> Message:
    """The message as a conversation shows it: without what only sessions have."""
    return Message(
        message.role, message.content, message.timestamp, message.structured_data, message.id
    )
