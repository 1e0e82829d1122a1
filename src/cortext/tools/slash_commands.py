"""Our slash commands, in the form that each tool reads.

A command file calls `cortext slash …` and nothing else. What a person types after a command is
text that anybody may have written, and no shell may read it as anything else. The `commands.py` of
each tool says how that is done there.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from cortext.model.safe_text import clean
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool, tools

CALL = "cortext slash"
"""What a command file may run, and what a person is asked to allow: this and nothing else."""


class SlashCommand(NamedTuple):
    """A slash command: `name` without the slash, `verb` what `cortext slash` is asked for."""

    name: str
    verb: str
    description: str
    hint: str


class SlashCommands:
    """The command files of one tool."""

    extension: str = "md"

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    @property
    def workspace_folder(self) -> str:
        """Where the tool looks for the commands of a project, below its folder."""
        return f".{self.tool.name}/commands"

    def user_folder(self) -> str:
        """Return where the tool looks for the commands that a person has everywhere."""
        return os.path.join(self.tool.home, "commands")

    def file_name(self, command: SlashCommand) -> str:
        return f"{command.name}.{self.extension}"

    def file_text(self, command: SlashCommand, old: str = "") -> str:
        """Return the command file. `old` is the file that is there already."""
        raise NotImplementedError


def tools_with_commands() -> list[str]:
    """Return the names of the tools that have slash commands."""
    return [tool.name for tool in tools() if tool.slash_commands]


def slash_commands_of(tool: str) -> SlashCommands | None:
    """Return the command files of a tool; None if it has no slash commands."""
    found = find_tool(tool)
    return found.load("slash_commands")(found) if found.slash_commands else None


def open_slash_commands(tool: str) -> SlashCommands:
    """Return the command files of a tool. MissingCapabilityError if it has no slash commands."""
    found = find_tool(tool)
    return found.load("slash_commands")(found)


def quoted(text: str) -> str:
    """Return one line in quotes, as YAML and TOML read it too."""
    return json.dumps(clean(text, lines=False), ensure_ascii=False)
