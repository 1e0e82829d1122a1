"""The start of the picker, and what happens with the chosen conversation."""

from __future__ import annotations

import click

from cortext.cli.launch_tool import can_launch, is_talk, reopen_in_tool, say, talk_on
from cortext.cli.picker.picker_app import run
from cortext.cli.picker.picker_items import Chosen, PickerItems
from cortext.cli.views.list_view import keep_up


def pick() -> None:
    """Show the picker, reopen the chosen conversation, and exit with the exit code of the tool.

    Return if the user chooses nothing.
    """
    shelf = PickerItems.here()
    if not shelf.rows:
        shelf = PickerItems.everywhere()
    chosen = run(shelf)
    keep_up(shelf.conversations)
    if chosen is not None:
        _reopen(chosen)


def _reopen(chosen: Chosen) -> None:
    """Reopen the chosen conversation as `cortext resume` does. Exit with the tool's exit code."""
    row, tool = chosen.row, chosen.tool or None
    if is_talk(row, tool, fork=chosen.fork):
        talk_on(row)
    if not can_launch(tool):
        say(f"`cortext resume --context {row.key}`")
        raise click.exceptions.Exit(1)
    reopen_in_tool(row, tool, None, fork=chosen.fork)
