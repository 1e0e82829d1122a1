"""The contract of conversation stores, in docstrings.

`tests/service/stores/conformance.py` checks every store of cortext against it. Terms:

- The *window* is how many of the last messages a conversation shows.
- The *TTL* is how many seconds a conversation may be idle before it is removed.
- The *limit* is how many conversations there may be.
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
    """One message. Nested values are copied when it is created and must not be mutated.

    A message that is created without an id gets one at once. So adding the same object twice stores
    it once.
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
        """Return the message as a dict for JSON, for programs that store messages themselves.

        The keys are those of the service: `role`, `content`, `timestamp` (text), `structuredData`
        if there is any, and `id`.
        """
        return to_builtins(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """Create a message from the result of `to_dict`.

        A missing id or time is generated. ValueError says which value does not fit.
        """
        return record_dicts.convert(
            record_dicts.as_dict(json_copy(data, "the message", around=8)), cls
        )


Messages = list[Message]


class Conversation(Struct, omit_defaults=True, rename="camel"):
    """A snapshot of one conversation. The caller may change it without changing the store."""

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

    - `messages`: the last three messages
    - `data`: the newest structured data
    - `types`: the types of all structured data in the window, oldest first
    - `text`: a summary of the window in one line
    """

    messages: Messages
    data: Any
    types: Sequence[str]
    text: str


class ConversationStore(Protocol):
    """A place where conversations are stored: the five methods of the service's interface.

    Any class with these five methods is a ConversationStore. The HTTP service adapts it with
    `adapt_store`, whose docstring lists what such a store lacks.

    Text that cannot be an id raises InvalidIdError. A store that cannot do its work raises
    SessionStorageError within its time-out, for example when a disk is full or a server does not
    answer. The store then still has everything that it acknowledged before.

    A returned value is a snapshot: it does not change, and changing it does not change the store.

    A store belongs to one event loop at a time. After that loop has ended, another loop may use the
    store. A call from a second running loop raises CortextError.
    """

    async def create(self) -> str:
        """Create an empty conversation and return its id, a UUID v4.

        If there are then more conversations than the limit, the oldest ones by `created_at` are
        removed, with a warning.
        """
        ...

    async def get(self, id: str) -> Conversation | None:
        """Return the conversation with the messages of its window, or None if it does not exist."""
        ...

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message and restart the TTL. The oldest messages leave the window.

        SessionNotFoundError is raised if the conversation does not exist.

        A message whose id is still in the window is not stored twice and does not restart the TTL.
        So a caller can repeat an add that failed.

        `updated_at` and the TTL use the time of the store, not the time of the message.
        """
        ...

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last messages in the order in which they were added.

        The result has at most `limit` messages and never more than the window. It is empty if the
        conversation does not exist. Reading does not restart the TTL.
        """
        ...

    async def delete(self, id: str) -> None:
        """Remove the conversation permanently and log that. Do nothing if it does not exist."""
        ...


@runtime_checkable
class IdempotentConversationStore(ConversationStore, Protocol):
    """A store that says whether an add was a repetition.

    Every store of cortext is one, and so is `AsyncClient`.
    """

    async def add_if_new(self, id: str, message: Message) -> bool:
        """Add the message as `add_message` does. Return whether it was added.

        The result is False if a message with its id is already there.
        """
        ...


def own(message: Message) -> Message:
    """Return the message with its own copy of the nested values, so that nobody shares them."""
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
    """Return the message of a conversation for a session's message.

    Fields that only sessions have are left out.
    """
    return Message(
        message.role, message.content, message.timestamp, message.structured_data, message.id
    )
