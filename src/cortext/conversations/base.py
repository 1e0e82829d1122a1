"""The old import path of `Conversations`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.base`.
"""

from __future__ import annotations

from cortext.service.stores.base import Conversations

__all__ = ["Conversations"]
