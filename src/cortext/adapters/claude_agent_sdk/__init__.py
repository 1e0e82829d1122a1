"""The Claude Agent SDK: a `SessionStore` that is a store of ours.

store = CortextSessionStore()
options = ClaudeAgentOptions(session_store=store)
"""

from __future__ import annotations

from cortext.adapters.claude_agent_sdk.session_store import CortextSessionStore

__all__ = ["CortextSessionStore"]
