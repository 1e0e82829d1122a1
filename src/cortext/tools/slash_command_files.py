"""Our slash commands, in the file format of each tool.

A command file runs `cortext slash …` and nothing else. The text that a user types after a command
may be copied from anywhere, so no shell may interpret the text. The subclasses of `SlashCommands`
explain how the command files of each tool prevent that.
"""

from __future__ import annotations

import os

import msgspec

from cortext.model.safe_text import clean
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool, tools

CALL = "cortext slash"
"""The only shell command that our command files run, and that a user must allow."""


class SlashCommand(msgspec.Struct, frozen=True):
    """A slash command of cortext.

    `name` has no leading slash. `verb` is the subcommand of `cortext slash` that the command runs.
    `hint` describes the arguments for the user.
    """

    name: str
    verb: str
    description: str
    hint: str


class SlashCommands:
    """The format and the folders of our command files for one tool."""

    extension: str = "md"

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    @property
    def workspace_folder(self) -> str:
        """The folder for the commands of a project, relative to the folder of the project."""
        return f".{self.tool.name}/commands"

    def user_folder(self) -> str:
        """Return the folder for commands that the user has in all projects."""
        return os.path.join(self.tool.home, "commands")

    def file_name(self, command: SlashCommand) -> str:
        return f"{command.name}.{self.extension}"

    def file_text(self, command: SlashCommand, old: str = "") -> str:
        """Return the content to write to the file of a slash command.

        `old` is the current content of the file, or "" if the file does not exist.
        """
        raise NotImplementedError


def tools_with_commands() -> list[str]:
    """Return the names of the tools that have slash commands."""
    return [tool.name for tool in tools() if tool.slash_commands]


def slash_commands_of(tool: str) -> SlashCommands | None:
    """Return the format and folders of a tool's command files.

    The result is None if the tool has no slash commands.
    """
    descriptor = find_tool(tool)
    return descriptor.load("slash_commands")(descriptor) if descriptor.slash_commands else None


def open_slash_commands(tool: str) -> SlashCommands:
    """Return the format and folders of a tool's command files.

    Raises MissingCapabilityError if the tool has no slash commands.
    """
    descriptor = find_tool(tool)
    return descriptor.load("slash_commands")(descriptor)


def has_workspace_command(root: str, name: str) -> bool:
    """Return whether the workspace `root` has the slash command `name` for any tool."""
    return any(
        os.path.isfile(f"{root}/{commands.workspace_folder}/{name}.{commands.extension}")
        for commands in map(open_slash_commands, tools_with_commands())
    )


def quoted(text: str) -> str:
    """Return a text as one line in double quotes that is valid JSON, YAML and TOML."""
    import json  # imported here, because `cortext list` does not need it

    return json.dumps(clean(text, lines=False), ensure_ascii=False)
