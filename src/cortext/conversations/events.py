"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.conversation_events`.
"""

from __future__ import annotations

from cortext.service.stores.conversation_events import Event, Subscription

__all__ = ["Event", "Subscription"]
