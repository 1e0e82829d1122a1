"""Stores by URL: `document:PATH`, `log:PATH`, `workspace:PATH`, `memory:`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from cortext.stores.port import SessionStore

STORES = {
    "document": ("cortext.stores.document", "SessionStorage"),
    "log": ("cortext.stores.log", "LogStore"),
    "workspace": ("cortext.stores.folder", "FolderStore"),
    "memory": ("cortext.stores.memory", "MemoryStore"),
}


def open_session_store(url: str, *, on_change: Callable[[str], None] | None = None) -> SessionStore:
    """The store that a URL names; ValueError lists the kinds that there are."""
    kind, colon, path = url.partition(":")
    if not colon or kind not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        raise ValueError(f"not a session store: {url!r} (there are {known})")
    if bool(path) == (kind == "memory"):
        raise ValueError(
            "memory: takes no path" if path else f"{kind}: needs a path, as in {kind}:./sessions"
        )
    module, name = STORES[kind]
    opener = getattr(import_module(module), name)
    if kind == "memory":
        return opener(on_change=on_change)
    return opener(path, on_change=on_change)
