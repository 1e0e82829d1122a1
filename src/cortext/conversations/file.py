"""The old import path of `FileConversationStore`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.file_store`.
"""

from __future__ import annotations

from cortext.service.stores.file_store import FileConversationStore

__all__ = ["FileConversationStore"]
