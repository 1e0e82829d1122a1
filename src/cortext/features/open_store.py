"""Opening a conversation store by its URL, with the log of sessions that `file:` stands on."""

from __future__ import annotations

from typing import Any, cast

from cortext.service.stores import open_by_url as registry
from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_log_port import ConversationLog
from cortext.stores.store_registry import open_session_store


def open_store(url: str, **options: Any) -> Conversations:
    """The conversation store that a URL names: `memory:`, `file:PATH`, `redis://…`,
    `redis+cluster://…`, `redis+sentinel://…` (each as `rediss` with TLS) or `postgresql://…`.
    Options are the store's own: `window`, `ttl`, `max_conversations`. ValueError lists the
    kinds."""
    return registry.open_store(url, open_log=_open_log, **options)


def _open_log(path: str) -> ConversationLog:
    return cast("ConversationLog", open_session_store(f"log:{path}"))
