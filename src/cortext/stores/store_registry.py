"""Open a session store by its URL.

The URLs are `document:PATH`, `log:PATH`, `workspace:PATH` and `memory:`. Stores on a server are
`redis://HOST:PORT/DB` (also with TLS, cluster or sentinel) and `postgresql://HOST/DATABASE`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortext.stores.port import SessionStore

STORES = {
    "document": ("cortext.stores.document", "SessionStorage"),
    "log": ("cortext.stores.log", "LogStore"),
    "workspace": ("cortext.stores.folder", "FolderStore"),
    "memory": ("cortext.stores.memory", "MemoryStore"),
}
_REDIS = ("cortext.stores.servers.redis_store", "RedisStore")
_POSTGRES = ("cortext.stores.servers.postgres_store", "PostgresStore")
SERVERS: dict[str, tuple[str, str]] = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "redis+cluster": _REDIS,
    "rediss+cluster": _REDIS,
    "redis+sentinel": _REDIS,
    "rediss+sentinel": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}
"""The URL schemes of stores on a server. Such a store gets the whole URL instead of a path."""


def open_session_store(url: str, *, on_change: Callable[[str], None] | None = None) -> SessionStore:
    """Open the session store at a URL.

    `on_change` is called with the id of each session that the store changes. ValueError is raised
    for an unsupported URL. The error message lists the supported kinds of URLs.
    """
    kind, colon, path = url.partition(":")
    if not colon or kind not in {**STORES, **SERVERS}:
        raise ValueError(f"not a session store: {without_password(url)!r} (supported: {kinds()})")
    if bool(path) == (kind == "memory"):
        raise ValueError(
            "memory: takes no path" if path else f"{kind}: needs a path, such as {kind}:./sessions"
        )
    module, name = STORES.get(kind) or SERVERS[kind]
    store_class = getattr(import_module(module), name)
    if kind == "memory":
        return store_class(on_change=on_change)
    return store_class(url if kind in SERVERS else path, on_change=on_change)


def kinds() -> str:
    """Return the supported URL prefixes, such as `log:`, separated by commas."""
    return ", ".join([*(f"{name}:" for name in STORES), *(f"{name}://" for name in SERVERS)])


def without_password(url: str) -> str:
    """Return a URL for an error message, with `…` in place of user, password and query.

    `url` may be any text that a user typed, because even an unsupported URL may contain a password.
    """
    url, query, _ = url.partition("?")
    before, at, after = url.rpartition("@")
    shown = f"{before.partition('//')[0]}//…@{after}" if at else url
    return f"{shown}?…" if query else shown
