"""A checkpointer for LangGraph that stores threads as plain files.

The conversation of a thread is a session like any other.

    graph = builder.compile(checkpointer=CortextSaver("agents"))
"""

from __future__ import annotations

from cortext.adapters.langgraph.checkpointer import CortextSaver, MessagesState, add_messages

__all__ = ["CortextSaver", "MessagesState", "add_messages"]
