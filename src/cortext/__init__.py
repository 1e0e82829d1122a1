"""cortext stores conversations with AI agents, finds them again and reopens them."""

from __future__ import annotations

__version__ = "0.2.0.dev0"

# This replaces `typing.TYPE_CHECKING`, because importing typing would double the time of
# `import cortext`. Type checkers treat any variable of this name as true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cortext.catalog.documents.document_index import SessionIndex
    from cortext.errors import (
        CortextError,
        InvalidIdError,
        InvalidTransitionError,
        NewerVersionError,
        SessionCorruptedError,
        SessionLockedError,
        SessionNotFoundError,
        SessionStorageError,
    )
    from cortext.features.conversation_store_by_url import open_store
    from cortext.model.message import SessionMessage, ToolInvocation
    from cortext.model.session import Session
    from cortext.model.session_summary import SessionSummary
    from cortext.service.stores.memory_store import MemoryConversationStore
    from cortext.service.stores.port import Conversation, ConversationStore, Message
    from cortext.service.stores.postgres.postgres_conversations import PostgresConversationStore
    from cortext.service.stores.redis.redis_conversations import RedisConversationStore
    from cortext.stores.document import SessionStorage
    from cortext.stores.store_registry import open_session_store
    from cortext.workspace.session_manager import SessionManager
    from cortext.workspace.workspace import Workspace

__all__ = [
    "Conversation",
    "ConversationStore",
    "CortextError",
    "InvalidIdError",
    "InvalidTransitionError",
    "MemoryConversationStore",
    "Message",
    "NewerVersionError",
    "PostgresConversationStore",
    "RedisConversationStore",
    "Session",
    "SessionCorruptedError",
    "SessionIndex",
    "SessionLockedError",
    "SessionManager",
    "SessionMessage",
    "SessionNotFoundError",
    "SessionStorage",
    "SessionStorageError",
    "SessionSummary",
    "ToolInvocation",
    "Workspace",
    "open_session_store",
    "open_store",
]

_MODULES = {
    "Conversation": "cortext.service.stores.port",
    "ConversationStore": "cortext.service.stores.port",
    "MemoryConversationStore": "cortext.service.stores.memory_store",
    "Message": "cortext.service.stores.port",
    "PostgresConversationStore": "cortext.service.stores.postgres.postgres_conversations",
    "RedisConversationStore": "cortext.service.stores.redis.redis_conversations",
    "Session": "cortext.model.session",
    "SessionIndex": "cortext.catalog.documents.document_index",
    "SessionManager": "cortext.workspace.session_manager",
    "SessionMessage": "cortext.model.message",
    "SessionStorage": "cortext.stores.document",
    "SessionSummary": "cortext.model.session_summary",
    "ToolInvocation": "cortext.model.message",
    "Workspace": "cortext.workspace.workspace",
    "open_session_store": "cortext.stores.store_registry",
    "open_store": "cortext.features.conversation_store_by_url",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cortext' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULES.get(name, "cortext.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
