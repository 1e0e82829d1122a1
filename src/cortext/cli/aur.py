"""`aur`: the command of spec 002, which is `cortext spawn` by another name."""

from __future__ import annotations

from copy import copy

import click

from cortext import __version__
from cortext.cli.commands.spawn import command
from cortext.cli.error_output import debugging


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="aur")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def aur(debug: bool) -> None:
    """Agents that you talk to, turn by turn. It is part of cortext."""
    debugging.on = debug


spawn: click.Command = copy(command)
spawn.help = (command.help or "").replace("cortext spawn", "aur spawn")
aur.add_command(spawn)
