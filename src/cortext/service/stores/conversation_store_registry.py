"""Open the conversation store that a URL names.

The URLs are `memory:`, `file:PATH`, `redis://HOST:PORT/DB` and `postgresql://HOST/DATABASE`. There
are more URLs for Redis with TLS, Redis Cluster and Redis Sentinel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_log import ConversationLog
from cortext.service.stores.store_url_checks import folder_of_url, url_without_secrets

_REDIS = ("cortext.service.stores.redis.redis_conversations", "RedisConversationStore")
_POSTGRES = ("cortext.service.stores.postgres.postgres_conversations", "PostgresConversationStore")
STORES: dict[str, tuple[str, str]] = {
    "memory": ("cortext.service.stores.memory_store", "MemoryConversationStore"),
    "file": ("cortext.service.stores.file_store", "FileConversationStore"),
    "redis": _REDIS,
    "rediss": _REDIS,
    "redis+cluster": _REDIS,
    "rediss+cluster": _REDIS,
    "redis+sentinel": _REDIS,
    "rediss+sentinel": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}
_CLIENT_HINT = "for a cortext server, use cortext.client.AsyncClient(url, token)"
_SESSIONS_HINT = "this is a session store; use cortext.open_session_store"
_HINTS = {
    "http": _CLIENT_HINT,
    "https": _CLIENT_HINT,
    "log": "for conversations in such a folder, use file:PATH",
    "document": _SESSIONS_HINT,
    "workspace": _SESSIONS_HINT,
}
"""Hints for URLs that do not name a conversation store, by the scheme of the URL."""
_MAIN_KINDS = ("memory", "file", "redis", "postgresql")
"""One URL scheme for each class of store."""


def open_store(
    url: str, *, open_log: Callable[[str], ConversationLog], **options: Any
) -> Conversations:
    """Open the conversation store that a URL names.

    `open_log` is called for a `file:` URL, and opens the log store in a folder. `options` are
    keyword arguments for the class of the store, such as `window`, `ttl` and `max_conversations`.
    ValueError is raised if the URL or an option is invalid.
    """
    if type(url) is not str:
        raise ValueError(
            f"the URL of a conversation store must be a string, not {type(url).__name__}"
        )
    kind, colon, path = url.partition(":")
    if not colon or kind not in STORES:
        schemes = ", ".join(f"{name}:" for name in STORES)
        hint = _HINTS.get(kind, f"use {schemes}") if colon else f"use {schemes}"
        raise ValueError(f"not a conversation store: {url_without_secrets(url)!r} ({hint})")
    _check_query(kind, path)
    if bool(path) == (kind == "memory"):
        raise ValueError(
            "memory: takes no path"
            if path
            else f"{kind}: needs a path or an address after the colon"
        )
    _check_options(kind, options)
    if kind == "memory":
        return _store_class(kind)(**options)
    if kind == "file":
        return _store_class(kind)(open_log(folder_of_url(path)), **options)
    return _store_class(kind)(url, **options)


def _store_class(kind: str) -> Callable[..., Conversations]:
    module, name = STORES[kind]
    return getattr(import_module(module), name)


def _check_options(kind: str, options: Iterable[str]) -> None:
    valid_names = _option_names(kind)
    for name in options:
        if name not in valid_names:
            others = [f"{other}:" for other in _MAIN_KINDS if name in _option_names(other)]
            which = (
                f"{' and '.join(others)} have it"
                if len(others) > 1
                else f"{''.join(others)} has it"
            )
            other_stores = f" ({which})" if others else ""
            raise ValueError(
                f"{kind}: has no option {name!r}{other_stores}; "
                f"its options are {', '.join(sorted(valid_names))}"
            )


def _check_query(kind: str, path: str) -> None:
    """Raise ValueError if the URL contains an option of the store, as in `redis://HOST?ttl=60`.

    Such an option must be a keyword argument. In the URL it would be passed to the client library
    of the server, or become a part of the path.
    """
    names = {name for name, _ in parse_qsl(path.partition("?")[2], keep_blank_values=True)}
    for name in sorted(names):
        if any(name in _option_names(other) for other in _MAIN_KINDS):
            raise ValueError(
                f"{name} is not part of the URL: use open_store('{kind}:…', {name}=…), or an "
                "option of `cortext serve`"
            )


def _option_names(kind: str) -> frozenset[str]:
    """Return the names of a store's options: the keyword-only parameters of its class."""
    import inspect

    parameters = inspect.signature(_store_class(kind)).parameters.values()
    return frozenset(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
