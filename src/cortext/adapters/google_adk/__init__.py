"""A session service for Google's Agent Development Kit (ADK) that stores sessions with cortext.

runner = Runner(app_name="shop", agent=agent, session_service=CortextSessionService())
"""

from __future__ import annotations

from cortext.adapters.google_adk.session_service import CortextSessionService, register

__all__ = ["CortextSessionService", "register"]
