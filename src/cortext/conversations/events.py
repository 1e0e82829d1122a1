"""The old import path of `Event` and `Subscription`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.conversation_events`.
"""

from __future__ import annotations

from cortext.service.stores.conversation_events import Event, Subscription

__all__ = ["Event", "Subscription"]
