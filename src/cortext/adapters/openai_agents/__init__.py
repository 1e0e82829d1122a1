"""A `Session` for openai-agents that stores the history of a conversation with cortext.

session = CortextSession("order-17", owner="ada")
await Runner.run(agent, "Where is my parcel?", session=session)
"""

from __future__ import annotations

from cortext.adapters.openai_agents.agents_session import CortextSession, SessionRow

__all__ = ["CortextSession", "SessionRow"]
