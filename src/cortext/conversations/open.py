"""Conversation stores by URL: `memory:`, `file:PATH`, `redis://HOST:PORT/DB` and its kin,
`postgresql://HOST/DATABASE`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from cortext.conversations.base import Conversations
from cortext.conversations.sessions import SessionLog

_REDIS = ("cortext.conversations.redis", "RedisConversationStore")
_POSTGRES = ("cortext.conversations.postgres", "PostgresConversationStore")
STORES = {
    "memory": ("cortext.conversations.memory", "MemoryConversationStore"),
    "file": ("cortext.conversations.file", "FileConversationStore"),
    "redis": _REDIS,
    "rediss": _REDIS,
    "redis+cluster": _REDIS,
    "rediss+cluster": _REDIS,
    "redis+sentinel": _REDIS,
    "rediss+sentinel": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}


def open_store(url: str, *, open_log: Callable[[str], SessionLog], **options: Any) -> Conversations:
    """The store that a URL names, with `window`, `ttl`, `max_conversations` and what else it
    takes; ValueError lists the kinds that there are. `open_log` opens the log of sessions in a
    folder, for `file:`."""
    kind, colon, path = url.partition(":")
    if not colon or kind not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        raise ValueError(f"not a conversation store: {_shown(url)!r} (there are {known})")
    if bool(path) == (kind == "memory"):
        raise ValueError("memory: takes no path" if path else f"{kind}: needs a place after it")
    module, name = STORES[kind]
    opener = getattr(import_module(module), name)
    if kind == "memory":
        return opener(**options)
    return opener(open_log(path) if kind == "file" else url, **options)


def _shown(url: str) -> str:
    """A URL without what may be a password in it."""
    before, at, after = url.rpartition("@")
    return f"{before.partition('//')[0]}//…@{after}" if at else url
