"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.base`.
"""

from __future__ import annotations

from cortext.service.stores.base import Conversations

__all__ = ["Conversations"]
