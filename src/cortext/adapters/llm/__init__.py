"""llm: conversations of its Python library that are kept in a store of ours.

conversation = CortextLog(owner="ada").conversation("order-17", llm.get_model())
conversation.prompt("Where is my parcel?").text()

What the command `llm` logs is kept by its plug-in, `plugin.py`.
"""

from __future__ import annotations

from cortext.adapters.llm.conversations import (
    ConversationRow,
    CortextAsyncConversation,
    CortextConversation,
    CortextLog,
    History,
)

__all__ = [
    "ConversationRow",
    "CortextAsyncConversation",
    "CortextConversation",
    "CortextLog",
    "History",
]
