"""The contract of conversation stores: what every store promises to its callers.

The docstrings of `ConversationStore` are the contract. `tests/service/stores/conformance.py` checks
every store of cortext against it. Terms used in the docstrings:

- The *window* is the number of last messages that a store returns for a conversation.
- The *TTL* (time to live) is the number of seconds without a new message after which a conversation
  is removed.
- The *limit* is the maximum number of conversations in a store.
- *Structured data* is any JSON value that a program stores with a message, such as search results.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, to_builtins
from msgspec.structs import force_setattr

from cortext import clock
from cortext.model import message_dicts
from cortext.model.ids import new_id
from cortext.model.json_values import as_utc, json_copy
from cortext.model.message import NO_TIME, ROLES, Role, SessionMessage

WINDOW = 20
"""The default window: how many of the last messages a store returns for a conversation."""
TTL = 3600.0
"""The default time to live: seconds without a new message until a conversation is removed."""
LIMIT = 1000
"""The default limit: the maximum number of conversations in a store."""


class Message(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """One message of a conversation.

    `structured_data` is any JSON value, such as search results. It is copied when the message is
    created, and must not be changed afterwards.

    A message that is created without an id gets a new id at once. So a caller can add the same
    object twice, and the store still has only one message.
    """

    role: Role
    content: str
    timestamp: datetime = NO_TIME
    structured_data: Any = None
    id: str | None = None

    def __post_init__(self) -> None:
        if type(self.role) is not str or self.role not in ROLES:
            raise ValueError(
                f"role must be one of {', '.join(sorted(ROLES))}, not {self.role!r:.60}"
            )
        if type(self.content) is not str:
            kind = type(self.content).__name__
            raise ValueError(
                f"content must be a string, not {kind}; use structured_data for other data"
            )
        at = self.timestamp
        force_setattr(self, "timestamp", clock.now() if at is NO_TIME else as_utc(at))
        if not self.id:
            force_setattr(self, "id", new_id())
        elif type(self.id) is not str:
            raise ValueError(f"id must be a string, not {type(self.id).__name__}")
        if self.structured_data is not None:
            copied = json_copy(self.structured_data, "structured_data")
            force_setattr(self, "structured_data", copied)

    def to_dict(self) -> dict[str, Any]:
        """Return the message as a dict for JSON, for programs that store messages themselves.

        The keys are those of the HTTP service: `role`, `content`, `timestamp` (as text), `id`, and
        `structuredData` if the message has structured data.
        """
        return to_builtins(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """Create a message from a dict that `to_dict` returned.

        If `id` is missing, a new id is generated. If `timestamp` is missing, the current time is
        used. ValueError is raised for an invalid value, and names the value.
        """
        return message_dicts.convert(
            message_dicts.as_dict(json_copy(data, "the message", around=8)), cls
        )


Messages = list[Message]


class Conversation(Struct, omit_defaults=True, rename="camel"):
    """A copy of one conversation with its last messages: at most as many as the store's window.

    Changing the copy does not change the store. `owner` is "" if the conversation has no owner.
    """

    id: str
    messages: Messages
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, Any] = {}
    owner: str = ""


class ConversationEntry(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One entry in a list of conversations: a conversation without its messages."""

    id: str
    created_at: datetime
    updated_at: datetime
    owner: str = ""
    metadata: dict[str, Any] = {}


class ConversationSummary(Struct, frozen=True, rename="camel"):
    """A short summary of a conversation, for a program that decides which agent answers next.

    The summary covers the window: the last messages that the store returns.

    - `messages`: the last three messages
    - `data`: the newest structured data, or None
    - `types`: the different `type` values of all structured data in the window, oldest first
    - `text`: a summary of the window in one line
    """

    messages: Messages
    data: Any
    types: Sequence[str]
    text: str


class ConversationStore(Protocol):
    """A store of conversations. Every store must have these five methods.

    Any class with these five methods is a ConversationStore. The HTTP service uses `adapt_store` to
    add the other methods that it needs. The docstring of `adapt_store` lists the restrictions.

    If a text cannot be an id, the methods raise InvalidIdError. If a store cannot do its work, the
    methods raise SessionStorageError within the store's time-out, for example when a disk is full
    or a server does not answer. Everything that earlier calls stored is then still in the store.

    The methods return copies. A copy does not change when the store changes, and changing a copy
    does not change the store.

    A store belongs to one event loop at a time. After that loop has ended, another loop may use the
    store. A call from a second running loop raises CortextError.
    """

    async def create(self) -> str:
        """Create an empty conversation and return its id, a UUID v4.

        If there are then more conversations than the limit, the conversations with the oldest
        `created_at` are removed and a warning is logged.
        """
        ...

    async def get(self, id: str) -> Conversation | None:
        """Return a conversation with its last messages (the window); None if it does not exist."""
        ...

    async def add_message(self, id: str, message: Message) -> None:
        """Append a message to a conversation, and restart its TTL (the time until it expires).

        If the conversation then has more messages than the window, its oldest messages are no
        longer returned. SessionNotFoundError is raised if the conversation does not exist.

        If the id of the message is already in the window, the message is not stored again, and the
        TTL is not restarted. So a caller can repeat a call that failed.

        `updated_at` and the TTL use the clock of the store, not the timestamp of the message.
        """
        ...

    async def get_history(self, id: str, limit: int | None = None) -> Messages:
        """Return the last messages of a conversation, in the order in which they were added.

        The result has at most `limit` messages, and at most as many as the window. It is empty if
        the conversation does not exist. Reading does not restart the TTL.
        """
        ...

    async def delete(self, id: str) -> None:
        """Remove the conversation permanently and log the removal.

        Do nothing if the conversation does not exist.
        """
        ...


@runtime_checkable
class IdempotentConversationStore(ConversationStore, Protocol):
    """A conversation store that can tell whether an added message was new.

    All conversation stores of cortext have the method `add_if_new`, and so has `AsyncClient`.
    """

    async def add_if_new(self, id: str, message: Message) -> bool:
        """Append a message as `add_message` does, and return whether it was added.

        The result is False if a message with the same id is already stored.
        """
        ...


def own(message: Message) -> Message:
    """Return a copy of a message. The copy and the original share no structured data."""
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
    """Convert a message of a session to a message of a conversation.

    Fields that only the messages of sessions have, such as tool calls, are left out.
    """
    return Message(
        message.role, message.content, message.timestamp, message.structured_data, message.id
    )
