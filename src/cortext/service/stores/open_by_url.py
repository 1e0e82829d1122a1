"""Conversation stores by URL.

The URLs are `memory:`, `file:PATH`, `redis://HOST:PORT/DB` (also with TLS, cluster or sentinel) and
`postgresql://HOST/DATABASE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl

from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_log_port import ConversationLog
from cortext.service.stores.server_urls import folder_of_url, without_secrets

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
_CLIENT = "a server of ours is reached by cortext.client.AsyncClient(url, token)"
_SESSIONS = "that keeps sessions: cortext.open_session_store opens it"
_ELSEWHERE = {
    "http": _CLIENT,
    "https": _CLIENT,
    "log": "conversations in such a folder are opened by file:PATH",
    "document": _SESSIONS,
    "workspace": _SESSIONS,
}
"""Hints for URLs that open something else, such as a session store, by their scheme."""
_KINDS = ("memory", "file", "redis", "postgresql")


def open_store(
    url: str, *, open_log: Callable[[str], ConversationLog], **options: Any
) -> Conversations:
    """Open the conversation store that a URL names.

    `open_log` opens the log store in a folder; it is called for `file:` URLs. `options` are keyword
    arguments of the store's class, such as `window`, `ttl` and `max_conversations`. ValueError is
    raised if the URL or an option is invalid.
    """
    if type(url) is not str:
        raise ValueError(
            f"the URL of a conversation store is text such as memory:, not {type(url).__name__}"
        )
    kind, colon, path = url.partition(":")
    if not colon or kind not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        why = _ELSEWHERE.get(kind, f"there are {known}") if colon else f"there are {known}"
        raise ValueError(f"not a conversation store: {without_secrets(url)!r} ({why})")
    _check_query(kind, path)
    if bool(path) == (kind == "memory"):
        raise ValueError("memory: takes no path" if path else f"{kind}: needs a place after it")
    _check_options(kind, options)
    if kind == "memory":
        return _opener(kind)(**options)
    if kind == "file":
        return _opener(kind)(open_log(folder_of_url(path)), **options)
    return _opener(kind)(url, **options)


def _opener(kind: str) -> Callable[..., Conversations]:
    module, name = STORES[kind]
    return getattr(import_module(module), name)


def _check_options(kind: str, options: Iterable[str]) -> None:
    own = _taken_by(kind)
    for name in options:
        if name not in own:
            takers = [f"{other}:" for other in _KINDS if name in _taken_by(other)]
            where = f"{' and '.join(takers)} do" if len(takers) > 1 else f"{''.join(takers)} does"
            said = f" ({where})" if takers else ""
            raise ValueError(
                f"{kind}: takes no option {name!r}{said}; it takes {', '.join(sorted(own))}"
            )


def _check_query(kind: str, path: str) -> None:
    """Raise ValueError if the URL contains an option of a store, as in `redis://HOST?ttl=60`.

    Such options must be keyword arguments. In a URL they would be passed to the server's client, or
    become part of a path.
    """
    named = {name for name, _ in parse_qsl(path.partition("?")[2], keep_blank_values=True)}
    for name in sorted(named):
        if any(name in _taken_by(other) for other in _KINDS):
            raise ValueError(
                f"{name} does not stand in the URL: open_store('{kind}:…', {name}=…), or "
                "`cortext serve --help` for the options of the service"
            )


def _taken_by(kind: str) -> frozenset[str]:
    """Return the option names of a store: the keyword-only parameters of its constructor."""
    import inspect

    parameters = inspect.signature(_opener(kind)).parameters.values()
    return frozenset(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
