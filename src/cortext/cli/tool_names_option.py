"""The option `--tools` of several commands: names of AI tools, separated by commas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cortext.tools.registry import is_tool, tool_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def parse_tool_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Split a comma-separated list of AI tools into their names.

    Return None if the option is not given. Raises BadParameter for an unknown tool.
    """
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if not is_tool(name)]
    if unknown or not names:
        wrong = f"unknown tool {unknown[0]!r}" if unknown else "no tool is named"
        raise click.BadParameter(f"{wrong}; the tools are {', '.join(tool_names())}")
    return names


def complete_tools(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last name in a comma-separated list of AI tools, for shell completion.

    Each result is the whole list with a completed last name. Tools that are already in the list are
    not offered again.
    """
    from click.shell_completion import CompletionItem

    given, comma, prefix = incomplete.rpartition(",")
    candidates = [
        tool for tool in tool_names() if tool not in given.split(",") and tool.startswith(prefix)
    ]
    return [CompletionItem(f"{given}{comma}{tool}") for tool in candidates]
