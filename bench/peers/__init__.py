"""The peers' side of the bench: one adapter per peer, none of them imported before `open`."""

from __future__ import annotations

from collections.abc import Callable

from .agno_sqlite import Agno
from .base import Message, Peer
from .google_adk import GoogleAdk
from .langgraph_sqlite import LangGraph
from .llm_logs import Llm
from .openai_agents import OpenAIAgents
from .strands_file import Strands

__all__ = ["PEERS", "Message", "Peer"]

PEERS: dict[str, Callable[[], Peer]] = {
    "openai-agents": OpenAIAgents,
    "langgraph": LangGraph,
    "google-adk": GoogleAdk,
    "strands": Strands,
    "agno": Agno,
    "llm": Llm,
}
