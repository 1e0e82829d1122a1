"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.conversation_summary import register_type

__all__ = ["register_type"]
