"""A `SessionStore` for the Claude Agent SDK that stores its sessions with cortext.

store = CortextSessionStore()
options = ClaudeAgentOptions(session_store=store)
"""

from __future__ import annotations

from cortext.adapters.claude_agent_sdk.session_store import CortextSessionStore

__all__ = ["CortextSessionStore"]
