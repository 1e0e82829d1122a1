"""The option `--store`, which names the session store to use."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.stores.store_registry import SERVERS, STORES, open_session_store

F = TypeVar("F", bound=Callable[..., Any])


def store_option(command: F) -> F:
    return click.option(
        "--store",
        metavar="URL",
        default=lambda: os.environ.get("CORTEXT_STORE") or None,
        callback=check_store,
        help="Use the sessions of this store: document:PATH, log:PATH, workspace:PATH, file:PATH, "
        "redis://HOST:PORT/DB or postgresql://HOST/DATABASE.",
    )(command)


def check_store(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the value of the option `--store`, and return a URL for `open_session_store`.

    `file:PATH` names a store of `cortext serve`. Such a store has the same format as `log:PATH`, so
    the result is `log:PATH`. Return None if the option is not given. Raises BadParameter if the URL
    is not valid.
    """
    if value is None:
        return None

    kind, colon, path = value.partition(":")
    if colon and kind in SERVERS:
        return _check_server_url(value)
    if colon and path and kind == "file":
        return f"log:{_folder_of_url(path)}"
    if colon and kind == "memory":
        raise click.BadParameter(
            "memory: exists only inside one program, so no command can read it; "
            "use another store, for example log:PATH"
        )
    if not colon or kind not in STORES or not path:
        kinds = ", ".join(f"{name}:PATH" for name in (*STORES, "file") if name != "memory")
        kinds += ", redis://HOST:PORT/DB, postgresql://HOST/DATABASE"
        raise click.BadParameter(f"{_without_password(value)!r} is not a store; use {kinds}")
    return value


def _folder_of_url(path: str) -> str:
    from cortext.service.stores.store_url_checks import folder_of_url

    try:
        return folder_of_url(path)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _check_server_url(url: str) -> str:
    """Check the URL of a database server, and return it unchanged.

    Raises BadParameter if the URL is not valid. This function does not connect to the server.
    """
    try:
        open_session_store(url).close()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return url


def _without_password(url: str) -> str:
    """Return the URL of a store without its password, for an error message."""
    from cortext.service.stores.store_url_checks import url_without_secrets

    return url_without_secrets(url)
