"""A `BaseSessionService` of Google's Agent Development Kit that stores sessions with cortext.

runner = Runner(app_name="shop", agent=agent, session_service=CortextSessionService())
"""

from __future__ import annotations

from cortext.adapters.google_adk.session_service import CortextSessionService, register

__all__ = ["CortextSessionService", "register"]
