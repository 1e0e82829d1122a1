"""`cortext restore`: what `cortext trash restore` does, beside `cortext delete`."""

from __future__ import annotations

from copy import copy

import click

from cortext.cli.commands.trash import put_back

command: click.Command = copy(put_back)
command.name = "restore"
