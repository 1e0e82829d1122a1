"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.conversation_summary`.
"""

from __future__ import annotations

from cortext.service.stores.conversation_summary import register_type

__all__ = ["register_type"]
