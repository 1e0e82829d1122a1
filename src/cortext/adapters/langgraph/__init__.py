"""A checkpointer for LangGraph: threads are kept as plain files, and their conversations are
sessions like any other.

    graph = builder.compile(checkpointer=CortextSaver("agents"))
"""

from __future__ import annotations

from cortext.adapters.langgraph.checkpointer import CortextSaver, MessagesState, add_messages

__all__ = ["CortextSaver", "MessagesState", "add_messages"]
