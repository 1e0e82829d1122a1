"""The options that filter lists of conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cortext import paths
from cortext.catalog.row import AUR, DOCUMENT, SPAWN
from cortext.cli.common_options import Number, all_option
from cortext.cli.time_options import SinceType
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
_STATUSES = ["active", "paused", "completed", "interrupted"]


class SourceType(click.Choice[str]):
    """The click type of the option `--tool`, which filters a list of conversations.

    The value is the name of a tool, or `spawn`, or `document` for sessions of the user's own
    programs. The user can type `aur` instead of `spawn`.
    """

    def __init__(self) -> None:
        super().__init__((*tool_names(), SPAWN, DOCUMENT), case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value).lower()
        return AUR if name in (AUR, SPAWN) else super().convert(name, param, ctx)


def complete_owner(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of owners that start with the typed text, for shell completion.

    An owner is the name that a program gave to a session, such as the id of one of its users.
    """
    from click.shell_completion import CompletionItem

    rows = ConversationList(paths.workspace_root(), everywhere=True).list().rows
    owners = sorted({row.owner for row in rows if row.owner})
    return [CompletionItem(owner) for owner in owners if owner.startswith(incomplete)]


def tool_option(command: F) -> F:
    return click.option(
        "--tool",
        type=click.Choice(tool_names()),
        help="The AI tool to use.  [default: the tool that the conversation used last]",
    )(command)


def owner_option(command: F) -> F:
    return click.option(
        "--owner",
        metavar="NAME",
        shell_complete=complete_owner,
        help="Only sessions that a program saved for this user.",
    )(command)


def complete_branch(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the git branches whose name starts with the typed text, for shell completion.

    Only branches on which a conversation took place are included.
    """
    from click.shell_completion import CompletionItem

    rows = ConversationList(paths.workspace_root(), everywhere=True).list().rows
    branches = sorted({row.branch for row in rows if row.branch})
    return [CompletionItem(branch) for branch in branches if branch.startswith(incomplete)]


def complete_folder(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Let the shell complete the path of a folder."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def project_options(command: F) -> F:
    """Add the options `--in` and `--branch`, which filter by project and git branch."""
    command = click.option(
        "--branch",
        metavar="NAME",
        shell_complete=complete_branch,
        help="Only conversations on this git branch.",
    )(command)
    return click.option(
        "--in",
        "folder",
        metavar="DIR",
        shell_complete=complete_folder,
        help="Only conversations in this folder or below; other worktrees of the same repository "
        "count too.",
    )(command)


def filters(command: F) -> F:
    """Add the options that filter a list of conversations, such as `--type`, to a command."""
    options = (
        all_option,
        project_options,
        click.option("--type", "kind", metavar="TYPE", help="Only conversations of this type."),
        click.option(
            "--status",
            type=click.Choice(_STATUSES, case_sensitive=False),
            help="Only conversations with this status.",
        ),
        click.option(
            "--tag",
            "tags",
            multiple=True,
            help="Only conversations with this tag. Can be repeated.",
        ),
        owner_option,
        click.option(
            "--since",
            type=SinceType(),
            help="Only conversations that were active since this time, for example 2026-01-31, "
            "yesterday, 7d or 3mo.",
        ),
        click.option(
            "-n",
            "--limit",
            "limit",
            type=Number(min=1),
            help="Show at most this many conversations.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def wanted(
    kind: str | None,
    status: str | None,
    tags: tuple[str, ...],
    since: int | None,
    folder: str | None = None,
    branch: str | None = None,
    **more: Any,
) -> ListFilter:
    """Return the filter for a list of conversations.

    The parameters are the values of the options that the decorator `filters` adds to a command.
    """
    # `aur` calls a session `interrupted`. Its row has the status `paused`.
    word = "paused" if status == "interrupted" else status
    return ListFilter(
        kind=kind,
        status=word,
        tags=tags,
        since=since,
        folder=folder or "",
        branch=branch or "",
        **more,
    )
