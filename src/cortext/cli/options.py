"""What several commands have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.app.sessions import default_store
from cortext.model import json
from cortext.stores.registry import STORES

F = TypeVar("F", bound=Callable[..., Any])


def check_store(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A store's URL as an option or argument; the usage error says which there are."""
    kind, colon, path = value.partition(":")
    if not colon or kind not in STORES or kind == "memory" or not path:
        kinds = ", ".join(f"{name}:PATH" for name in STORES if name != "memory")
        raise click.BadParameter(f"{value!r} is not a store; give {kinds}")
    return value


def store_option(command: F) -> F:
    return click.option(
        "--store",
        metavar="URL",
        default=default_store,
        callback=check_store,
        help="Where to look: document:PATH, log:PATH or workspace:PATH.",
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def print_json(value: Any) -> None:
    click.echo(json.encode(value))
