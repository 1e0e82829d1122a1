"""Conversations of the Python library `llm`, stored with cortext.

conversation = CortextLog(owner="ada").conversation("order-17", llm.get_model())
conversation.prompt("Where is my parcel?").text()

The plug-in in `plugin.py` stores the responses that the command `llm` logs.
"""

from __future__ import annotations

from cortext.adapters.llm.cortext_conversation import (
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
