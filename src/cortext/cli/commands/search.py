"""`cortext search`."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from cortext.cli.filters import wanted
from cortext.cli.lists import SOURCES
from cortext.cli.options import Since, complete_id, complete_type, json_option, plain_words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from cortext.app.hits import Finder
    from cortext.index.listed import Listed

_ROLES = ("user", "assistant", "tool", "agents", "system", "title", "document")
_STATUSES = ("active", "paused", "completed", "interrupted")
_ORDERS = ("newest", "relevance")
_DAY = len("2026-01-31")


class Until(Since):
    """As `Since`; of a day, the end of it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = super().convert(value, param, ctx)
        is_day = isinstance(value, str) and len(value) == _DAY and value[:4].isdecimal()
        return found + timedelta(days=1) // timedelta(microseconds=1) if is_day else found


def complete_tag(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The tags that begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from cortext import paths
    from cortext.app.conversations import Conversations

    rows = Conversations(paths.workspace_root(), everywhere=True).list().rows
    tags = sorted({tag for row in rows for tag in row.tags})
    return [CompletionItem(tag) for tag in tags if tag.startswith(incomplete)]


@click.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, callback=plain_words)
@click.option("--tool", type=click.Choice(SOURCES), help="Only what was had in this tool.")
@click.option("--in", "folder", metavar="DIR", help="Only what was had in this folder or below it.")
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
@click.option("--status", type=click.Choice(_STATUSES), help="Only with this status.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tag,
    help="Only with this tag; repeatable.",
)
@click.option("--role", type=click.Choice(_ROLES), help="Only what these said.")
@click.option("--since", type=Since(), help="Only what was said since: 2026-01-31, 12h, 7d, 3m.")
@click.option("--until", type=Until(), help="Only what was said until then; a day counts whole.")
@click.option("--sort", type=click.Choice(_ORDERS), default="newest", show_default=True)
@click.option(
    "-n", "most", type=click.IntRange(1, 10_000), default=20, show_default=True,
    help="At most this many messages.",
)  # fmt: skip
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
    as_json: bool,
    **options: Any,
) -> int:
    """Find what was said, in any conversation, in any tool.

    Words may stand in any order, and all have to be in one message. 'a phrase' among other words,
    or "one" in quotes of its own, stands as it is. AND, OR and NOT in capitals mean that; a * at
    the end of a word is for any ending. The exit code is 1 if nothing is found.
    """
    from cortext.app.hits import Question
    from cortext.app.search import Narrow
    from cortext.cli.hits import look, search, typed

    options.pop("all")  # it is what a search does
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--since is after --until: nothing was said between them")
    narrow = Narrow(since, until, os.path.abspath(folder) if folder else "", role or "")
    finder = look()
    question = Question(
        typed(words),
        wanted(since=None, **options),
        narrow,
        most=most,
        each=most if as_json else 3,
        best=sort == "relevance",
        only=_one(only, finder).identity if only else None,
    )
    return search(question, finder, as_json=as_json)


def _one(name: str, finder: Finder) -> Listed:
    """The conversation that is meant."""
    from cortext.cli.choose import choose

    shown = finder.conversations.shown_as(name)
    found = [row for row in finder.rows if row.identity == shown]
    return found[0] if len(found) == 1 else choose(name, everywhere=True)
