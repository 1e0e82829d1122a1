"""`cortext doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cortext.cli.options import json_option, print_json
from cortext.cli.text import clean

if TYPE_CHECKING:
    from cortext.app.doctor import ArchiveHealth, Health, ToolHealth


@click.command("doctor")
@json_option
def command(as_json: bool) -> None:
    """Say whether cortext and your AI tools work together, and what went wrong in the background.

    Nothing is changed. The exit code is 1 where something is wrong.
    """
    from cortext.app.doctor import examine

    health = examine()
    if as_json:
        print_json(health)
    else:
        for line in _sentences(health):
            click.echo(clean(line, lines=False))
    if health.problems:
        raise click.exceptions.Exit(1)


def _sentences(health: Health) -> list[str]:
    from cortext.cli.lists import short

    where = f"at {short(health.program)}" if health.program else "not on the PATH"
    lines = [f"cortext {health.version}, {where}"]
    lines += [_of_tool(tool) for tool in health.tools] or ["no AI tool was found"]
    lines.append(_of_places())
    lines += _of_server(health)
    lines.append(_of_archive(health.archive))
    if health.errors:
        lines += ["the last errors in hooks and in the background:"]
        lines += [f"- {line}" for line in health.errors]
    for problem in health.problems:
        lines += [f"problem: {problem.text}", f"hint: {problem.hint}"]
    return lines if health.problems else [*lines, "nothing is wrong"]


def _of_places() -> str:
    from cortext.app.looked import looked
    from cortext.cli.lists import short

    places = [
        f"{short(place.folder)} ({place.variable} is {'' if place.is_set else 'not '}set)"
        for place in looked()
    ]
    return f"histories are looked for in {', '.join(places)}"


def _of_tool(tool: ToolHealth) -> str:
    from cortext.cli.lists import short

    at = short(tool.program) if tool.program else "its program is not on the PATH"
    parts = [
        f"{there} of our {what} {'is' if there == 'none' else 'are'} in it"
        for what, there in (("hooks", tool.hooks), ("commands", tool.commands))
        if there != "not used"
    ]
    if not tool.connected:
        parts = [f"not connected (`cortext setup --tools {tool.tool}`)"]
    return f"{tool.tool}: {at}; {', '.join(parts)}"


def _of_server(health: Health) -> list[str]:
    """Nothing, where no tool is connected: then there is nothing to expect."""
    there = [tool.tool for tool in health.tools if tool.server == "present"]
    others = [tool for tool in health.tools if tool.server != "present"]
    if not there and not any(tool.connected or tool.server != "missing" for tool in others):
        return []
    parts = [f"in {', '.join(there)}"] if there else []
    for tool in others:
        more = f" (`cortext setup --tools {tool.tool}`)" if tool.server == "missing" else ""
        parts.append(f"{tool.tool}: {tool.server}{more}")
    server = health.server
    if server.starts:
        parts.append(f"it starts, with {server.tools} tools")
    elif server.starts is False:
        parts.append("it does not start")
    if not server.package:
        parts.append("the extra `mcp` is not installed")
    return [f"MCP server: {'; '.join(parts)}"]


def _of_archive(archive: ArchiveHealth) -> str:
    from cortext.cli.chart import counted, size
    from cortext.cli.lists import short
    from cortext.clock import ago

    if archive.enabled is None:
        return "archive: its setting cannot be read"
    if not archive.enabled:
        return "archive: turned off (`cortext config archive.enabled on`)"
    if archive.last_sync is None:
        return "archive: nothing was copied yet (`cortext sync`)"
    last = ago(int(archive.last_sync.timestamp() * 1_000_000))
    kept = f"{size(archive.sources)} kept in {size(archive.packed)}"
    transcripts = counted(archive.copies, "transcript")
    return f"archive: {transcripts}, {kept}, in {short(archive.folder)}; last sync {last}"
