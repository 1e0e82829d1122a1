"""Run the picker, and reopen the conversation that the user chose."""

from __future__ import annotations

import click

from cortext.cli.picker.picker_app import run
from cortext.cli.picker.picker_items import Chosen, PickerItems
from cortext.cli.views.list_view import update_in_background


def pick() -> None:
    """Show the picker. Then reopen the chosen conversation in its tool.

    Exit with the exit code of the tool. Return only if the user chooses nothing.
    """
    items = PickerItems.here()
    if not items.rows:
        items = PickerItems.everywhere()
    chosen = run(items)
    update_in_background(items.conversations)
    if chosen is not None:
        _reopen(chosen)


def _reopen(chosen: Chosen) -> None:
    """Reopen the chosen conversation like `cortext resume`, and exit with the tool's exit code."""
    # These modules take long to import, and the picker appears without them.
    from cortext.cli.tool_reopening import (
        can_launch,
        continue_spawned,
        continues_in_spawn,
        reopen_in_tool,
        say,
    )

    row, tool = chosen.row, chosen.tool or None
    if continues_in_spawn(row, tool, fork=chosen.fork):
        continue_spawned(row)
    if not can_launch(tool):
        say(f"`cortext resume --context {row.key}`")
        raise click.exceptions.Exit(1)
    reopen_in_tool(row, tool, None, fork=chosen.fork)
