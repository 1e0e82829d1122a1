"""The command `cortext moved`: declare that a project folder was moved."""

from __future__ import annotations

import os

import click

from cortext import clock, paths
from cortext.catalog.rebuildable_database import micros
from cortext.cli.common_options import json_option, print_json
from cortext.cli.list_options import complete_folder
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import local, say
from cortext.cli.time_options import SinceType
from cortext.cli.views.list_view import short
from cortext.errors import CortextError
from cortext.workspace.known_folders import remember_workspace
from cortext.workspace.moved_folders import declare_move, forget_move, moved_folders


@click.command("moved")
@click.argument("old", required=False, shell_complete=complete_folder)
@click.argument("new", required=False, shell_complete=complete_folder)
@click.option("--undo", is_flag=True, help="Forget that the folder OLD was moved.")
@click.option(
    "--since",
    type=SinceType(),
    help="The time of the move: a date, or an age such as 7d. Conversations that begin in OLD "
    "later stay there.  [default: now]",
)
@json_option
def command(old: str | None, new: str | None, undo: bool, since: int | None, as_json: bool) -> None:
    """Declare that the folder OLD is now the folder NEW.

    Conversations that took place in OLD or below it then count as conversations of NEW: in lists,
    in searches, with --in, and when you resume them. Conversations that begin after the move do
    not count, in case you use the folder OLD again. No file is moved or changed.

    Without arguments, print the moves that you have declared.
    """
    if since is not None and (undo or new is None):
        raise click.UsageError("--since needs both folders: cortext moved OLD NEW --since WHEN")
    if undo:
        if old is None or new is not None:
            raise click.UsageError("--undo needs the folder OLD, and does not take NEW")
        _undo(os.path.abspath(old))
    elif old is None:
        _print_moves(as_json)
    elif new is None:
        raise click.UsageError("give both folders: cortext moved OLD NEW")
    else:
        _declare(os.path.abspath(old), os.path.abspath(new), since)


def _declare(old: str, new: str, since: int | None) -> None:
    if old == new:
        raise click.UsageError("OLD and NEW are the same folder")
    if not os.path.isdir(new):
        raise click.UsageError(f"there is no folder {short(new)}")
    is_link_to_new = os.path.realpath(old) == os.path.realpath(new)
    if since is None and not is_link_to_new:
        since = micros(clock.now())
    for each in _forms(old):
        if each not in (new, os.path.realpath(new)):
            declare_move(each, new, since)
    if paths.workspace_root(new) == new:
        remember_workspace(new)
    say(f"Conversations of {short(old)} now belong to {short(new)}.")
    say(f"hint: to list them: `cortext list --in {quoted(new)}`")


def _undo(old: str) -> None:
    forgotten = [forget_move(each) for each in _forms(old)]
    if not any(forgotten):
        raise CortextError(
            f"{short(old)} was not declared as moved", hint="`cortext moved` prints all moves"
        )
    say(f"Conversations of {short(old)} belong to {short(old)} again.")


def _forms(folder: str) -> list[str]:
    """Return the paths that AI tools may have recorded for a folder.

    These are three paths: the typed path, the path with all symbolic links resolved, and the path
    with only the links in its parent folder resolved. The third path is needed if the user moved
    the folder and then created a link with its old name.
    """
    parent, name = os.path.split(folder)
    resolved_parent = os.path.join(os.path.realpath(parent), name)
    return [*dict.fromkeys((folder, resolved_parent, os.path.realpath(folder)))]


def _print_moves(as_json: bool) -> None:
    moves = moved_folders().moves
    times = [None if move.since is None else clock.from_micros(move.since) for move in moves]
    if as_json:
        print_json(
            [
                {"old": move.old, "new": move.new, "since": time and time.isoformat()}
                for move, time in zip(moves, times, strict=True)
            ]
        )
        return
    for move, time in zip(moves, times, strict=True):
        when = f" (since {local(time)})" if time else ""
        click.echo(f"{short(move.old)} -> {short(move.new)}{when}")
    if not moves:
        say("no folder was declared as moved")
        say("hint: after you moved a project: `cortext moved OLD NEW`")
