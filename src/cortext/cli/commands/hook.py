"""`cortext hook`, where it comes by way of the parser of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_tool(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The tools that begin so, for the shell."""
    from click.shell_completion import CompletionItem

    from cortext.tools.registry import tool_names

    return [CompletionItem(tool) for tool in tool_names() if tool.startswith(incomplete)]


def complete_event(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The events that the tool before tells of, for the shell."""
    from click.shell_completion import CompletionItem

    from cortext.tools.registry import get_tool

    tool = get_tool(str(ctx.params.get("tool")))
    known = tool.hook_events if tool else ()
    return [CompletionItem(event) for event in known if event.startswith(incomplete)]


@click.command("hook")
@click.argument("tool", shell_complete=complete_tool)
@click.argument("event", shell_complete=complete_event)
@click.argument("payload", required=False)
def command(tool: str, event: str, payload: str | None) -> None:
    """Called by the hooks of AI tools: keeps what was said. JSON comes on standard input, or as
    PAYLOAD. Nothing fails the tool; errors go to a log that `cortext doctor` shows.
    """
    from cortext.cli.hook_entry import run

    run([tool, event, *([payload] if payload else [])])
