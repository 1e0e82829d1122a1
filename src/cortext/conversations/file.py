"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.file_store`.
"""

from __future__ import annotations

from cortext.service.stores.file_store import FileConversationStore

__all__ = ["FileConversationStore"]
