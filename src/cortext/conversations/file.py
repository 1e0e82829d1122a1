"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.file_store import FileConversationStore

__all__ = ["FileConversationStore"]
