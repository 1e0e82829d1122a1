"""A checkpointer for LangGraph that stores threads with cortext, by default as plain files.

The messages of a thread are also stored as a conversation, which `cortext list` shows.

    graph = builder.compile(checkpointer=CortextSaver("agents"))
"""

from __future__ import annotations

from cortext.adapters.langgraph.checkpointer import CortextSaver, MessagesState, add_messages

__all__ = ["CortextSaver", "MessagesState", "add_messages"]
