"""After the picker has closed: the tool gets the terminal."""

from __future__ import annotations

import click

from cortext.cli.launch_tool import can_launch, is_talk, reopen_in_tool, say, talk_on
from cortext.cli.picker.items import Chosen


def go_on(chosen: Chosen) -> None:
    """As `cortext resume` does, with the row that was chosen. It ends as the tool does."""
    row, tool = chosen.row, chosen.tool or None
    if is_talk(row, tool, fork=chosen.fork):
        talk_on(row)
    if not can_launch(tool):
        say(f"`cortext resume --context {row.key}`")
        raise click.exceptions.Exit(1)
    reopen_in_tool(row, tool, None, fork=chosen.fork)
