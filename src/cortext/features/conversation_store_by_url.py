"""Open a conversation store by its URL. A `file:` store writes session logs."""

from __future__ import annotations

from typing import Any, cast

from cortext.service.stores import conversation_store_registry as registry
from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_log import ConversationLog
from cortext.stores.store_registry import open_session_store


def open_store(url: str, **options: Any) -> Conversations:
    """Return the conversation store that a URL names.

    The URL is `memory:`, `file:PATH`, `redis://…`, `redis+cluster://…`, `redis+sentinel://…` or
    `postgresql://…`. For Redis with TLS, write `rediss` instead of `redis`. `options` are keyword
    arguments of the store's class, such as `ttl` (the number of seconds after which an idle
    conversation expires). Raises ValueError for any other URL. The error lists the valid URLs.
    """
    return registry.open_store(url, open_log=_open_log, **options)


def _open_log(path: str) -> ConversationLog:
    return cast("ConversationLog", open_session_store(f"log:{path}"))
