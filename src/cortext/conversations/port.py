"""The old import path of the types of conversation stores, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.port`.
"""

from __future__ import annotations

from cortext.service.stores.port import (
    Conversation,
    ConversationEntry,
    ConversationStore,
    ConversationSummary,
    IdempotentConversationStore,
    Message,
)

__all__ = [
    "Conversation",
    "ConversationEntry",
    "ConversationStore",
    "ConversationSummary",
    "IdempotentConversationStore",
    "Message",
]
