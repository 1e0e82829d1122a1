"""Open the conversation store at a URL, and remove passwords from a URL that users see."""

from __future__ import annotations

import os
from typing import Any

from cortext.errors import CortextError
from cortext.features.conversation_store_by_url import open_store
from cortext.installation import install_command
from cortext.service.stores.base import Conversations
from cortext.service.stores.store_url_checks import folder_of_url, url_without_secrets

_SHOWN_MESSAGES = 1000
"""The number of last messages that are shown for a conversation of another program."""


def open_store_at(url: str, **bounds: Any) -> Conversations:
    """Open the conversation store at a URL.

    `bounds` are the options `window`, `ttl` and `max_conversations` of the store. CortextError is
    raised if the URL is invalid or a required package is not installed.
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
    """Return the absolute path of the folder in a `file:` URL, or "" for any other URL."""
    kind, _, path = url.partition(":")
    if kind != "file":
        return ""
    return os.path.abspath(folder_of_url(path))


def shown_store(url: str) -> str:
    """Return a store URL for users: with the absolute path of a folder, without passwords."""
    folder = folder_of(url)
    return f"file:{folder}" if folder else url_without_secrets(url)


def store_to_show(url: str) -> Conversations:
    """Open a store that another program fills, to show its conversations.

    CortextError is raised for `memory:`, and for a folder that is missing or is not a store.
    """
    if url.startswith("memory:"):
        raise CortextError(
            "a memory: store exists only inside its program",
            hint="that program can show its pages: cortext.asgi.create_app(store, pages=True)",
        )
    # No limits: only the program that fills the store may let conversations expire.
    store = open_store_at(url, window=_SHOWN_MESSAGES, ttl=None, max_conversations=None)
    folder = folder_of(url)
    if folder and not os.path.isdir(folder):
        raise CortextError(
            f"there is no folder {folder}", hint="file:PATH must name the folder of the service"
        )
    if folder:
        _check_folder(folder)
    return store


def _check_folder(folder: str) -> None:
    """Raise CortextError if a folder is unreadable, or contains files but no conversation."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise CortextError(f"{folder} cannot be read: {why}") from None
    if any(name.endswith(".jsonl") for name in names):
        return
    if ".workspace" in names:
        raise CortextError(
            f"{folder} is a workspace, not a conversation store",
            hint="`cortext web` without --store shows the conversations of workspaces",
        )
    if any(not name.startswith(".") for name in names):
        raise CortextError(
            f"{folder} is not a conversation store: it contains other files",
            hint="file:PATH must name the folder of the service",
        )
