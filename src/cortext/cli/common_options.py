"""Options, arguments and shell completion that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.time_ranges import since, until
from cortext.model import json_codec
from cortext.stores.store_registry import SERVERS, STORES, open_session_store
from cortext.workspace.type_templates import Types

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

DOCUMENT, AGENTS = "document", "agents"
"""Parts of a conversation that are not messages: `search` prints them, `show --at` opens them."""


def check_store(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the URL of a store, and return the URL that `open_session_store` understands.

    `file:PATH` becomes `log:PATH`, because a service stores its conversations as logs. Return None
    if no URL is given. Raises BadParameter, which lists the valid kinds of URLs.
    """
    if value is None:
        return None

    kind, colon, path = value.partition(":")
    if colon and kind in SERVERS:
        return _server(value)
    if colon and path and kind == "file":
        return f"log:{_folder(path)}"
    if not colon or kind not in STORES or kind == "memory" or not path:
        kinds = ", ".join(f"{name}:PATH" for name in (*STORES, "file") if name != "memory")
        kinds += ", redis://HOST:PORT/DB, postgresql://HOST/DATABASE"
        raise click.BadParameter(f"{_shown(value)!r} is not a store; give {kinds}")
    return value


def _folder(path: str) -> str:
    from cortext.service.stores.server_urls import folder_of_url

    try:
        return folder_of_url(path)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _server(url: str) -> str:
    """Return the URL of a database server if its form is valid. Nothing is sent to the server."""
    try:
        open_session_store(url).close()
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return url


def _shown(url: str) -> str:
    """Return the URL of a store without its password, for an error message."""
    from cortext.service.stores.server_urls import without_secrets

    return without_secrets(url)


def store_option(command: F) -> F:
    return click.option(
        "--store",
        metavar="URL",
        default=lambda: os.environ.get("CORTEXT_STORE") or None,
        callback=check_store,
        help="Sessions of a store: document:PATH, log:PATH, workspace:PATH, file:PATH, "
        "redis://HOST:PORT/DB or postgresql://HOST/DATABASE.",
    )(command)


def complete_id(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids of conversations that start with the typed text, for shell completion.

    If there are none, return the conversations with a word in the title that starts with the text.
    Only conversations that `cortext list` shows in this folder are included.
    """
    return complete_among(ConversationList(paths.workspace_root()).list().rows, incomplete)


def complete_among(rows: Sequence[ConversationRow], incomplete: str) -> list[CompletionItem]:
    """Return the ids of the rows that match the typed text, for shell completion.

    An id matches if it starts with the text. If no id matches, words of the titles are compared.
    Each id has its title as help.
    """
    from click.shell_completion import CompletionItem

    start = incomplete.casefold()
    found = [row for row in rows if row.key.startswith(incomplete)]
    found = found or [
        row for row in rows if any(word.startswith(start) for word in row.title.casefold().split())
    ]
    return [CompletionItem(row.key, help=row.title) for row in found]


def complete_type(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the conversation types that start with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    names = Types(paths.workspace_root()).names()
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def plain_words(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Reject words that look like a misspelt option, and return the other words.

    Words such as `-5` are accepted. Everything is accepted if the command line has a `--`.
    """
    for word in value:
        name = word[2:].partition("=")[0].replace("-", "")
        if word.startswith("--") and name.isalpha() and "--" not in sys.argv:
            raise no_such_option(word, ctx)
    return value


def no_such_option(word: str, ctx: click.Context, more: str = "") -> click.UsageError:
    """Return the error for a word that looks like an option, with a similar option as a hint.

    `more` is added to the end of the message.
    """
    from difflib import get_close_matches

    options = [option for param in ctx.command.get_params(ctx) for option in param.opts]
    known = [option for option in options if option.startswith("-")]
    near = get_close_matches(word.partition("=")[0], known, n=1)
    meant = f"did you mean {near[0]}? Words" if near else "words"
    said = f"No such option {word!r}: {meant} that look like options go after `--`{more}."
    return click.UsageError(said, ctx)


def all_option(command: F) -> F:
    return click.option(
        "--all", "everywhere", is_flag=True, help="Conversations of all your workspaces."
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class Number(click.IntRange):
    """A whole number between two bounds, as the type of an option."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        return super().convert(value, param, ctx)


class SinceType(click.ParamType[int]):
    """The type of an option such as `--since`: a date, or an age such as `7d`.

    The value is in microseconds since 1970. A day or a month counts from its beginning.
    """

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value

        try:
            return self._read(str(value))
        except CortextError as error:
            self.fail(f"{error}; {error.hint}", param, ctx)

    def _read(self, text: str) -> int:
        return since(text)


class UntilType(SinceType):
    """The type of `--until`: like `SinceType`, but the value is the end of the day or month."""

    def _read(self, text: str) -> int:
        return until(text)


def print_json(value: Any) -> None:
    click.echo(json_codec.encode(value))
