"""The options that filter lists of conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cortext import paths
from cortext.catalog.row import AUR, DOCUMENT, SPAWN
from cortext.cli.common_options import Number, SinceType, all_option
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
_STATUSES = ["active", "paused", "completed", "interrupted"]


class SourceType(click.Choice[str]):
    """The type of the option `--tool` of lists: a tool, `spawn` or `document`.

    `document` stands for sessions that programs store. `aur` is accepted for `spawn`.
    """

    def __init__(self) -> None:
        super().__init__((*tool_names(), SPAWN, DOCUMENT), case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value).lower()
        return AUR if name in (AUR, SPAWN) else super().convert(name, param, ctx)


def complete_owner(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the owners whose name starts with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    rows = ConversationList(paths.workspace_root(), everywhere=True).list().rows
    owners = sorted({row.owner for row in rows if row.owner})
    return [CompletionItem(owner) for owner in owners if owner.startswith(incomplete)]


def tool_option(command: F) -> F:
    return click.option(
        "--tool",
        type=click.Choice(tool_names()),
        help="The tool.  [default: the last one used for it]",
    )(command)


def owner_option(command: F) -> F:
    return click.option(
        "--owner",
        metavar="NAME",
        shell_complete=complete_owner,
        help="Only those that a program keeps for this user.",
    )(command)


def filters(command: F) -> F:
    """Add the options that filter a list of conversations, such as `--type`, to a command."""
    options = (
        all_option,
        click.option("--type", "kind", metavar="TYPE", help="Only of this type."),
        click.option(
            "--status",
            type=click.Choice(_STATUSES, case_sensitive=False),
            help="Only with this status.",
        ),
        click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable."),
        owner_option,
        click.option(
            "--since",
            type=SinceType(),
            help="Only those active since: 2026-01-31, yesterday, 7d, 3mo.",
        ),
        click.option("-n", "--limit", "limit", type=Number(min=1), help="At most this many."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def wanted(
    kind: str | None,
    status: str | None,
    tags: tuple[str, ...],
    since: int | None,
    **more: Any,
) -> ListFilter:
    # `aur` says interrupted, and rows of conversations say paused.
    word = "paused" if status == "interrupted" else status
    return ListFilter(kind=kind, status=word, tags=tags, since=since, **more)
