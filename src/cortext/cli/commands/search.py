"""`cortext search`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import (
    Number,
    SinceType,
    UntilType,
    complete_id,
    complete_type,
    json_option,
    no_such_option,
    plain_words,
)
from cortext.cli.list_options import SourceType, owner_option, wanted
from cortext.cli.select_conversation import choose
from cortext.cli.views.search_view import look, search, typed
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchRequest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_ROLES = ("user", "assistant", "tool", "agents", "system", "title", "document")
_PERSON = ("me", "you", "i")
_STATUSES = ("active", "paused", "completed", "interrupted")
_ORDERS = ("newest", "relevance")
_NUMBER = re.compile(r"-n\d+", re.ASCII)


class Role(click.Choice[str]):
    """Who said it, also by what a person calls herself and is called."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        person = isinstance(value, str) and value.lower() in _PERSON
        return super().convert("user" if person else value, param, ctx)


class SearchCommand(click.Command):
    """A command that takes words as people type them: with a minus before those that are not
    wanted."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        words = [word for argument in args[:end] for word in _worded(argument, ctx)]
        # After `--`, nothing is meant by a minus.
        after = [f'"{word}"' if word.startswith("-") else word for word in args[end:][1:]]
        return super().parse_args(ctx, words + (["--", *after] if after else []))


def _worded(argument: str, ctx: click.Context) -> list[str]:
    """Return an argument as search words: `-word` becomes `NOT word`.

    Without this, click would read `-memcached` as several options, including `-h`.
    """
    if len(argument) < 2 or argument[0] != "-" or argument[1] == "-":
        return [argument]
    if argument in ("-n", "-h") or _NUMBER.fullmatch(argument):
        return [argument]
    word = argument[1:]
    if argument.startswith("-n") or len(word) == 1:
        instead = f", and NOT {word} leaves it out" if len(word) > 1 else ""
        raise no_such_option(argument, ctx, instead)
    return ["NOT", word]


def complete_tag(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tags that start with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    rows = ConversationList(paths.workspace_root(), everywhere=True).list().rows
    tags = sorted({tag for row in rows for tag in row.tags})
    return [CompletionItem(tag) for tag in tags if tag.startswith(incomplete)]


@click.command("search", cls=SearchCommand, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, callback=plain_words)
@click.option(
    "--tool",
    type=SourceType(),
    help="Only what was said in this tool.",
)
@click.option(
    "--in", "folder", metavar="DIR", help="Only what was said in this folder or below it."
)
@click.option(
    "--conversation",
    "only",
    metavar="ID",
    shell_complete=complete_id,
    help="All that was found in this conversation, by its id or number.",
)
@click.option(
    "--type", "kind", metavar="TYPE", shell_complete=complete_type, help="Only of this type."
)
@click.option(
    "--status",
    type=click.Choice(_STATUSES, case_sensitive=False),
    help="Only with this status.",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tag,
    help="Only with this tag; repeatable.",
)
@owner_option
@click.option(
    "--role", type=Role(_ROLES, case_sensitive=False), help="Only what these said; `me` is user."
)
@click.option(
    "--since",
    type=SinceType(),
    help="Only what was said since: 2026-01-31, 2026-01, yesterday, 12h, 7d, 4w, 3mo.",
)
@click.option(
    "--until", type=UntilType(), help="Only what was said until then; a day counts whole."
)
@click.option("--sort", type=click.Choice(_ORDERS), default="newest", show_default=True)
@click.option(
    "-n", "--limit", "most", type=Number(1, 10_000), default=20, show_default=True,
    help="At most this many messages.",
)  # fmt: skip
@click.option("--no-pager", is_flag=True, help="All at once, also in a terminal.")
@click.option("--all", is_flag=True, hidden=True)
@json_option
def command(
    words: tuple[str, ...],
    folder: str | None,
    only: str | None,
    role: str | None,
    since: int | None,
    until: int | None,
    sort: str,
    most: int,
    no_pager: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Find what was said, in any conversation, in any tool.

    Words may stand in any order; where no message has all of them, what comes nearest is shown.
    'a phrase' among other words, or "one" in quotes of its own, stands as it is. -word excludes;
    AND, OR and NOT in capitals and parentheses mean that; a * at the end of a word is for any
    ending. The exit code is 1 if no message has it all.
    """
    options.pop("all")  # it is what a search does
    narrow = _narrow(since, until, folder, role)
    finder = look()
    question = SearchRequest(
        typed(words),
        wanted(since=None, **options),
        narrow,
        most=most,
        each=most if as_json else 3,
        best=sort == "relevance",
        only=_one(only, finder).identity if only else None,
    )
    return search(question, finder, as_json=as_json, paged=not no_pager)


def _narrow(
    since: int | None, until: int | None, folder: str | None, role: str | None
) -> TextFilter:
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since is after --until: nothing was said between them")
    return TextFilter(since, until, os.path.realpath(folder) if folder else "", role or "")


def _one(name: str, finder: Finder) -> ConversationRow:
    """Return the conversation that `name` names.

    A number means the last printed list; other names are ids or words of a title.
    """
    shown = finder.conversations.shown_as(name)
    found = [row for row in finder.rows if row.identity == shown]
    return found[0] if len(found) == 1 else choose(name, everywhere=True)
