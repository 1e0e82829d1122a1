"""The URL of a conversation store, as people give it and as they read it."""

from __future__ import annotations

import os
from typing import Any

from cortext.errors import CortextError
from cortext.features.open_store import open_store
from cortext.installation import install_command
from cortext.service.stores.base import Conversations
from cortext.service.stores.server_urls import folder_of_url, without_secrets

_SHOWN = 1000
"""Messages of a conversation that are shown, where a store has so many."""


def opened_store(url: str, **bounds: Any) -> Conversations:
    """The store; CortextError says in one sentence why there cannot be one."""
    try:
        return open_store(url, **bounds)
    except ValueError as error:
        raise CortextError(str(error)) from None
    except ModuleNotFoundError as error:
        kind = url.partition(":")[0]
        extra = "postgres" if kind.startswith("postgres") else "redis"
        raise CortextError(
            f"the store {kind}: needs a package that is not installed: {error.name}",
            hint=f"install it with `{install_command(extra)}`",
        ) from None


def folder_of(url: str) -> str:
    """The folder of `file:`, whole; "" of another store."""
    kind, _, path = url.partition(":")
    if kind != "file":
        return ""
    return os.path.abspath(folder_of_url(path))


def shown_store(url: str) -> str:
    """A store for people: with the whole path of a folder, and without passwords."""
    place = folder_of(url)
    return f"file:{place}" if place else without_secrets(url)


def store_to_show(url: str) -> Conversations:
    """A store that somebody else fills; CortextError if there can be nothing in it."""
    if url.startswith("memory:"):
        raise CortextError(
            "memory: is a store inside of the program that has it",
            hint="that program can show it: cortext.asgi.create_app(store, pages=True)",
        )
    # Whoever fills it has bounds of its own: one who only looks lets nothing expire.
    store = opened_store(url, window=_SHOWN, ttl=None, max_conversations=None)
    place = folder_of(url)
    if place and not os.path.isdir(place):
        raise CortextError(
            f"there is no folder {place}", hint="file:PATH is the one that the service was given"
        )
    if place:
        _check_folder(place)
    return store


def _check_folder(folder: str) -> None:
    """CortextError for one that holds other things, and no conversation."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise CortextError(f"{folder} cannot be looked at: {why}") from None
    if any(name.endswith(".jsonl") for name in names):
        return
    if ".workspace" in names:
        raise CortextError(
            f"{folder} is a workspace, not a conversation store",
            hint="`cortext web` shows the conversations of workspaces by itself, without --store",
        )
    if any(not name.startswith(".") for name in names):
        raise CortextError(
            f"{folder} is no conversation store: there are other things in it",
            hint="file:PATH is the folder that the service was given",
        )
