"""The contestants: one adapter each, none of what they stand for imported before `open`."""

from __future__ import annotations

from . import (
    agno_databases,
    google_adk,
    langgraph_savers,
    openai_agents,
    own,
    own_servers,
)
from .base import Message, Peer
from .claude_files import ClaudeFiles
from .llm_logs import Llm
from .strands_file import Strands

__all__ = ["PEERS", "Message", "Peer"]

PEERS: dict[str, type[Peer]] = {
    "log": own.Log,
    "folder": own.Folder,
    "document": own.Document,
    "in-openai-agents": openai_agents.Ours,
    "in-langgraph": langgraph_savers.Ours,
    "in-google-adk": google_adk.Ours,
    "openai-agents": openai_agents.OpenAIAgents,
    "langgraph": langgraph_savers.LangGraph,
    "google-adk": google_adk.GoogleAdk,
    "agno": agno_databases.Agno,
    "llm": Llm,
    "strands": Strands,
    "claude": ClaudeFiles,
    "redis": own_servers.InRedis,
    "in-openai-agents-redis": openai_agents.OursInRedis,
    "openai-agents-redis": openai_agents.InRedis,
    "agno-redis": agno_databases.InRedis,
    "postgres": own_servers.InPostgres,
    "in-openai-agents-postgres": openai_agents.OursInPostgres,
    "openai-agents-postgres": openai_agents.InPostgres,
    "langgraph-postgres": langgraph_savers.InPostgres,
    "google-adk-postgres": google_adk.InPostgres,
    "agno-postgres": agno_databases.InPostgres,
}
