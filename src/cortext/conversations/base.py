"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.base import Conversations

__all__ = ["Conversations"]
