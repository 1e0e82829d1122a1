"""URLs of conversation stores: open the store at a URL, and show a URL to users."""

from __future__ import annotations

import os
from typing import Any

from cortext.errors import CortextError
from cortext.features.open_store import open_store
from cortext.installation import install_command
from cortext.service.stores.base import Conversations
from cortext.service.stores.server_urls import folder_of_url, without_secrets

_SHOWN = 1000
"""The number of last messages that are shown of a conversation in another program's store."""


def opened_store(url: str, **bounds: Any) -> Conversations:
    """Open the conversation store at a URL.

    `bounds` are the options `window`, `ttl` and `max_conversations` of the store. Raise
    CortextError if the URL is not valid or a required package is not installed.
    """
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
    """Return the absolute folder of a `file:` URL; "" for any other store."""
    kind, _, path = url.partition(":")
    if kind != "file":
        return ""
    return os.path.abspath(folder_of_url(path))


def shown_store(url: str) -> str:
    """Return a store URL that can be shown to users: with an absolute folder, without passwords."""
    place = folder_of(url)
    return f"file:{place}" if place else without_secrets(url)


def store_to_show(url: str) -> Conversations:
    """Open the store of another program, to show its conversations.

    Raise CortextError for `memory:`, and for a folder that is missing or is not a store.
    """
    if url.startswith("memory:"):
        raise CortextError(
            "memory: is a store inside of the program that has it",
            hint="that program can show it: cortext.asgi.create_app(store, pages=True)",
        )
    # No limits: only the program that fills the store may let conversations expire.
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
    """Raise CortextError if a folder is unreadable, or contains files but no conversation."""
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
