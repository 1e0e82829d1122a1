"""The command `cortext hook`: save new messages. The hooks of AI tools call this command.

A hook must never disturb the tool that calls it. The exit code is always 0, stdout contains only
the JSON that the tool expects, and errors go to a log.
"""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from cortext.features.capture.hook_events import hook
from cortext.features.errors_log import write_error
from cortext.tools.registry import get_tool, is_tool, tool_names

_MAX_PAYLOAD = 64 << 20


def complete_tool(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tools whose name starts with the typed text, for shell completion."""
    return [CompletionItem(tool) for tool in tool_names() if tool.startswith(incomplete)]


def complete_event(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a hook event, for shell completion.

    The user has already typed the name of the tool. Return the events of this tool that start with
    the typed text.
    """
    tool = get_tool(str(ctx.params.get("tool")))
    events = tool.hook_events if tool else ()
    return [CompletionItem(event) for event in events if event.startswith(incomplete)]


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("tool", shell_complete=complete_tool)
@click.argument("event", shell_complete=complete_event)
@click.argument("payload", nargs=-1, metavar="[PAYLOAD]")
@click.option("--recall", is_flag=True, help="Tell the agent about earlier conversations.")
def command(tool: str, event: str, payload: tuple[str, ...], recall: bool) -> None:
    """Save new messages of a tool session. The hooks of AI tools call this command.

    The tool passes JSON on standard input or as PAYLOAD. The exit code is always 0, so that the
    tool does not fail. Errors go to a log that `cortext doctor` shows.
    """
    try:
        answer = _handle(tool, event, payload, recall)
        if answer:
            sys.stdout.write(json.dumps(answer) + "\n")
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the tool must not fail
        write_error(f"hook {tool} {event}", error)


def _handle(tool: str, event: str, payload: tuple[str, ...], recall: bool) -> dict[str, Any]:
    if not is_tool(tool):
        raise ValueError(f"unknown tool: {tool}")
    data = payload[-1].encode("utf-8", "surrogateescape") if payload else _read_stdin()
    decoded: Any = json.loads(data if data.strip() else b"{}")
    if not isinstance(decoded, dict):
        raise ValueError("the tool did not pass a JSON object")
    return hook(tool, event, cast("dict[str, Any]", decoded), recall=recall)


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        return b""
    return sys.stdin.buffer.read(_MAX_PAYLOAD)
