"""The command `cortext search`: search the messages of all conversations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import Number, json_option, no_such_option, plain_words
from cortext.cli.conversation_choice import choose
from cortext.cli.conversation_completion import complete_id, complete_type
from cortext.cli.list_options import SourceType, owner_option, project_options, wanted
from cortext.cli.time_options import SinceType, UntilType
from cortext.cli.views.search_output import look, search, typed
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchRequest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_ROLES = ("user", "assistant", "tool", "agents", "system", "title", "document")
_USER_WORDS = ("me", "you", "i")
_STATUSES = ("active", "paused", "completed", "interrupted")
_ORDERS = ("relevance", "newest")
_NUMBER = re.compile(r"-n\d+", re.ASCII)


class Role(click.Choice[str]):
    """The click type of the option `--role`. The words `me`, `you` and `i` mean `user`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        is_user = isinstance(value, str) and value.lower() in _USER_WORDS
        return super().convert("user" if is_user else value, param, ctx)


class SearchCommand(click.Command):
    """The click command `search`.

    A minus before a word, such as `-memcached`, excludes this word from the search.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        words = [word for argument in args[:end] for word in _to_search_words(argument, ctx)]
        # After `--`, a word with a minus is an ordinary search word.
        after = [f'"{word}"' if word.startswith("-") else word for word in args[end:][1:]]
        return super().parse_args(ctx, words + (["--", *after] if after else []))


def _to_search_words(argument: str, ctx: click.Context) -> list[str]:
    """Convert an argument of the command line to search words: `-word` becomes `NOT word`.

    Without this, click would read `-memcached` as several short options, one of them `-h`. Raises
    UsageError for an unknown option of one letter.
    """
    if len(argument) < 2 or argument[0] != "-" or argument[1] == "-":
        return [argument]
    if argument in ("-n", "-h") or _NUMBER.fullmatch(argument):
        return [argument]
    word = argument[1:]
    if argument.startswith("-n") or len(word) == 1:
        hint = f"; to exclude this word, write NOT {word}" if len(word) > 1 else ""
        raise no_such_option(argument, ctx, hint)
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
    help="Search only conversations of this tool. `document` means sessions of your own programs.",
)
@project_options
@click.option(
    "--conversation",
    "only",
    metavar="ID",
    shell_complete=complete_id,
    help="Show all matches in one conversation, by its id or number.",
)
@click.option(
    "--type",
    "kind",
    metavar="TYPE",
    shell_complete=complete_type,
    help="Search only conversations of this type.",
)
@click.option(
    "--status",
    type=click.Choice(_STATUSES, case_sensitive=False),
    help="Search only conversations with this status.",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tag,
    help="Search only conversations with this tag. Can be repeated.",
)
@owner_option
@click.option(
    "--role",
    type=Role(_ROLES, case_sensitive=False),
    help="Search only messages of this role. `me` is another name for user, `agents` means "
    "sub-agents, and `document` means the markdown of conversations.",
)
@click.option(
    "--since",
    type=SinceType(),
    help="Search only messages since this time: 2026-01-31, 2026-01, yesterday, 12h, 7d, 4w, 3mo.",
)
@click.option(
    "--until",
    type=UntilType(),
    help="Search only messages until this time. A day is included to its end.",
)
@click.option(
    "--sort",
    type=click.Choice(_ORDERS),
    default="relevance",
    show_default=True,
    help="Show the most relevant conversations first, or the newest messages first.",
)
@click.option(
    "-n", "--limit", "most", type=Number(1, 10_000), default=10, show_default=True,
    help="Show at most this many conversations, or messages with `--sort newest`.",
)  # fmt: skip
@click.option("--no-pager", is_flag=True, help="Print everything at once, even in a terminal.")
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
    """Search the messages of all conversations, of all tools.

    \b
      cortext search why did redis time out   the words that matter, in any form and order
      cortext search '"cache emptied"'        an exact phrase
      cortext search redis 'cache emptied'    a word and an exact phrase
      cortext search redis -memcached         without the word memcached
      cortext search 'redis AND (ttl OR expir*)'

    The conversations that match best come first, each with its best messages. A word also finds its
    other forms (test, tests, testing), longer words that start with it, and parts of identifiers.
    Quoted text must match exactly. AND, OR and NOT are operators if they are in capitals. If no
    conversation has all words, the closest results are shown, and the exit code is 1.
    """
    options.pop("all")  # a search always includes all workspaces
    text_filter = _make_text_filter(since, until, folder, role)
    finder = look()
    request = SearchRequest(
        typed(words),
        wanted(since=None, **options),
        text_filter,
        most=most,
        each=most if as_json and sort == "newest" else 3,
        best=sort == "relevance",
        only=_find_conversation(only, finder).identity if only else None,
    )
    return search(request, finder, as_json=as_json, paged=not no_pager)


def _make_text_filter(
    since: int | None, until: int | None, folder: str | None, role: str | None
) -> TextFilter:
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since is later than --until")
    return TextFilter(since, until, folder or "", role or "")


def _find_conversation(name: str, finder: Finder) -> ConversationRow:
    """Return the conversation that the user named.

    `name` is an id, a title, or a number in the list that cortext printed last.
    """
    shown = finder.conversations.shown_as(name)
    matches = [row for row in finder.rows if row.identity == shown]
    return matches[0] if len(matches) == 1 else choose(name, everywhere=True)
