"""`cortext sync`."""

from __future__ import annotations

import os
import sys
import time

import click

from cortext.cli.commands.setup import complete_tools
from cortext.cli.common_options import json_option, print_json
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import bar, can_draw, counted, size
from cortext.cli.warnings import missed
from cortext.errors import SessionLockedError
from cortext.features.archive.archive_sync import Progress, Synced, ToolSynced, sync
from cortext.features.archive.background_sync import notice
from cortext.tools.registry import is_tool, tool_names

_PATIENCE = 600.0
_SOON = 1.0
_WIDTH = 30


@click.command("sync")
@click.option(
    "--tools",
    metavar="TOOLS",
    help="Only these, with commas: claude,codex.",
    shell_complete=complete_tools,
)
@click.option("--quiet", is_flag=True, help="Say nothing, and give way to everything else.")
@json_option
def command(tools: str | None, quiet: bool, as_json: bool) -> None:
    """Copy what the AI tools keep, compressed, into the archive, so that it outlives their
    clean-ups. Only what is new is read; it can be stopped at any time.

    What cannot be copied is named, and all the rest is copied. Exit code 1: something was not, or
    could not be looked at; 0: all that there is."""
    chosen = _chosen(tools)
    with missed() as passed_over:
        result = _quietly(chosen) if quiet else _patiently(chosen)
    if result and not quiet:
        _say(result, as_json)
    if result and (result.errors or passed_over):
        raise click.exceptions.Exit(1)


def _say(result: Synced, as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        _tell(result)
    for failed in result.errors:
        what = clean(f"{failed.path}: {failed.reason}", lines=False)
        click.echo(f"warning: not copied: {what}", err=True)
    # Where no tool was used there are no copies to speak of.
    if any(one.packed for one in result.tools) and (said := notice()):
        click.echo(clean(said, lines=False), err=True)


def _chosen(tools: str | None) -> list[str]:
    names: list[str] = list(tool_names())
    if tools:
        names = [name.strip() for name in tools.split(",")]
    for name in names:
        if not is_tool(name):
            raise click.BadParameter(f"{name!r} is no tool; give {', '.join(tool_names())}")
    return names


def _quietly(chosen: list[str]) -> Synced | None:
    """Sync with low priority. Return None if another process is already syncing."""
    os.nice(10)
    try:
        return sync(tools=chosen)
    except SessionLockedError:
        return None


def _patiently(chosen: list[str]) -> Synced:
    shown = _SyncProgress()
    progress: Progress | None = shown.say if sys.stderr.isatty() else None
    try:
        return sync(tools=chosen, progress=progress)
    except SessionLockedError as error:
        holder = clean(str(error.holder), lines=False)
        click.echo(f"another sync is at work ({holder}): waiting for it", err=True)
        return sync(tools=chosen, progress=progress, wait=_PATIENCE)
    finally:
        shown.clear()


class _SyncProgress:
    """A bar, where it takes longer than a moment."""

    def __init__(self) -> None:
        self._began, self._last = time.monotonic(), 0.0
        self._shown = False

    def say(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._began < _SOON or now - self._last < 0.1 or not total:
            return
        self._shown, self._last = True, now
        drawn = bar(done, total, _WIDTH, blocks=can_draw(sys.stderr.encoding))
        click.echo(f"\r{drawn} {size(done)} of {size(total)} ", nl=False, err=True)

    def clear(self) -> None:
        if self._shown:
            click.echo("\r" + " " * 70 + "\r", nl=False, err=True)


def _tell(result: Synced) -> None:
    found = [one for one in result.tools if one.packed or one.deleted]
    if not found:
        click.echo("no transcripts of AI tools are there to be copied", err=True)
        return
    wide = max(len(one.tool) for one in found)
    for one in found:
        click.echo(f"{one.tool:{wide}}  {_told(one)}")
    click.echo(f"archive: {clean(result.folder, lines=False)}", err=True)


def _told(one: ToolSynced) -> str:
    count = one.new + one.grown + one.replaced + one.unchanged
    changes = [
        f"{number:,} {word}"
        for number, word in (
            (one.new, "new"),
            (one.grown, "grown"),
            (one.replaced, "written anew by the tool"),
            (one.deleted, "deleted by you and passed over"),
        )
        if number
    ]
    sizes = f"{size(one.sources)} kept in {size(one.packed)}"
    return f"{counted(count, 'transcript')}, {', '.join(changes) or 'nothing new'}; {sizes}"
