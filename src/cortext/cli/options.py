"""What several commands have in common. What costs time to import is imported when it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cortext import clock

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
"""In days."""


def check_store(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A store's URL as an option or argument; the usage error says which there are."""
    if value is None:
        return None
    from cortext.stores.registry import STORES

    kind, colon, path = value.partition(":")
    if not colon or kind not in STORES or kind == "memory" or not path:
        kinds = ", ".join(f"{name}:PATH" for name in STORES if name != "memory")
        raise click.BadParameter(f"{value!r} is not a store; give {kinds}")
    return value


def store_option(command: F) -> F:
    return click.option(
        "--store",
        metavar="URL",
        default=lambda: os.environ.get("CORTEXT_STORE") or None,
        callback=check_store,
        help="Sessions of a store: document:PATH, log:PATH or workspace:PATH.",
    )(command)


def complete_id(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The conversations here whose id begins so, for the shell."""
    from click.shell_completion import CompletionItem

    from cortext import paths
    from cortext.app.conversations import Conversations

    rows = Conversations(paths.workspace_root()).list().rows
    found = (row for row in rows if row.key.startswith(incomplete))
    return [CompletionItem(row.key, help=row.title) for row in found]


def complete_type(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The types of conversation that begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from cortext import paths
    from cortext.lifecycle.types import Types

    names = Types(paths.workspace_root()).names()
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def plain_words(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Words may begin with a hyphen; what looks like a misspelt option is one, unless `--` stands
    before it."""
    for word in value:
        if word.startswith("--") and word[2:].replace("-", "").isalpha() and "--" not in sys.argv:
            raise click.NoSuchOption(word, ctx=ctx)
    return value


def all_option(command: F) -> F:
    return click.option(
        "--all", "everywhere", is_flag=True, help="Conversations of all your workspaces."
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class Since(click.ParamType[int]):
    """A date, or how long ago; microseconds since 1970."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return int(_moment(str(value)).timestamp() * 1_000_000)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; give 2026-01-31, 12h, 7d, 4w or 3m", param, ctx)


def _moment(text: str) -> datetime:
    if text[-1:] == "m" and len(text) < 6 and text[:-1].isdecimal():
        return _months_ago(int(text[:-1]))
    if text[-1:] in _UNITS:
        return clock.now() - timedelta(days=_UNITS[text[-1]] * float(text[:-1]))
    return datetime.fromisoformat(text).astimezone()


def _months_ago(count: int) -> datetime:
    """The same day of an earlier month, or its last one."""
    now = clock.now().astimezone()
    month = now.year * 12 + now.month - 1 - count
    first = now.replace(year=month // 12, month=month % 12 + 1, day=1)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(now.day, last.day))


def print_json(value: Any) -> None:
    from cortext.model import json

    click.echo(json.encode(value))
