"""The command `cortext restore`, which is another name of `cortext trash restore`."""

from __future__ import annotations

from copy import copy

import click

from cortext.cli.commands.trash import restore_entry

command: click.Command = copy(restore_entry)
command.name = "restore"
