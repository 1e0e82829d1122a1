"""The command `cortext sync`: copy the transcripts of your AI tools into the archive."""

from __future__ import annotations

import os
import sys
import time

import click

from cortext.cli.common_options import json_option, print_json
from cortext.cli.log_warnings import missed
from cortext.cli.terminal_text import clean
from cortext.cli.tool_names_option import complete_tools
from cortext.cli.views.bar_chart import bar, can_draw, counted, size
from cortext.errors import SessionLockedError
from cortext.features.archive.archive_sync import Progress, SyncResult, ToolSyncResult, sync
from cortext.features.archive.background_sync import notice
from cortext.tools.registry import is_tool, tool_names

_LOCK_TIMEOUT = 600.0
_SHOW_AFTER = 1.0
_WIDTH = 30


@click.command("sync")
@click.option(
    "--tools",
    metavar="TOOLS",
    help="Copy only from these tools, for example claude,codex.  [default: all]",
    shell_complete=complete_tools,
)
@click.option("--quiet", is_flag=True, help="Print nothing, and run with low priority.")
@json_option
def command(tools: str | None, quiet: bool, as_json: bool) -> None:
    """Copy the AI tools' transcripts into the archive.

    The archive keeps compressed copies, even after the tools delete the transcripts. Only new data
    is read. You can stop the command at any time.

    If a transcript cannot be read or copied, a warning names it, the other transcripts are copied,
    and the exit code is 1. Otherwise it is 0.
    """
    chosen = _parse_tools(tools)
    with missed() as skipped:
        result = _sync_quietly(chosen) if quiet else _sync_with_progress(chosen)
    if result and not quiet:
        _print_result(result, as_json)
    if result and (result.errors or skipped):
        raise click.exceptions.Exit(1)


def _print_result(result: SyncResult, as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        _print_tools(result)
    for failed in result.errors:
        what = clean(f"{failed.path}: {failed.reason}", lines=False)
        click.echo(f"warning: not copied: {what}", err=True)
    # The notice says where the archive is, so print it only after a transcript was copied.
    if any(one.packed for one in result.tools) and (text := notice()):
        click.echo(clean(text, lines=False), err=True)


def _parse_tools(tools: str | None) -> list[str]:
    names: list[str] = list(tool_names())
    if tools:
        names = [name.strip() for name in tools.split(",")]
    for name in names:
        if not is_tool(name):
            raise click.BadParameter(
                f"unknown tool {name!r}; the tools are {', '.join(tool_names())}"
            )
    return names


def _sync_quietly(chosen: list[str]) -> SyncResult | None:
    """Copy the transcripts of the tools `chosen` into the archive, with low priority.

    Return None if another process is already copying transcripts.
    """
    os.nice(10)
    try:
        return sync(tools=chosen)
    except SessionLockedError:
        return None


def _sync_with_progress(chosen: list[str]) -> SyncResult:
    progress_bar = _SyncProgress()
    progress: Progress | None = progress_bar.say if sys.stderr.isatty() else None
    try:
        return sync(tools=chosen, progress=progress)
    except SessionLockedError as error:
        holder = clean(str(error.holder), lines=False)
        click.echo(f"Waiting for another sync to finish ({holder}).", err=True)
        return sync(tools=chosen, progress=progress, wait=_LOCK_TIMEOUT)
    finally:
        progress_bar.clear()


class _SyncProgress:
    """A progress bar that appears only if the sync takes longer than a second."""

    def __init__(self) -> None:
        self._began, self._last = time.monotonic(), 0.0
        self._shown = False

    def say(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._began < _SHOW_AFTER or now - self._last < 0.1 or not total:
            return
        self._shown, self._last = True, now
        drawn = bar(done, total, _WIDTH, blocks=can_draw(sys.stderr.encoding))
        click.echo(f"\r{drawn} {size(done)} of {size(total)} ", nl=False, err=True)

    def clear(self) -> None:
        if self._shown:
            click.echo("\r" + " " * 70 + "\r", nl=False, err=True)


def _print_tools(result: SyncResult) -> None:
    results = [one for one in result.tools if one.packed or one.deleted]
    if not results:
        click.echo("No transcripts of AI tools were found.", err=True)
        return
    width = max(len(one.tool) for one in results)
    for one in results:
        click.echo(f"{one.tool:{width}}  {_describe(one)}")
    click.echo(f"archive: {clean(result.folder, lines=False)}", err=True)


def _describe(one: ToolSyncResult) -> str:
    count = one.new + one.grown + one.replaced + one.unchanged
    reason = f"because you deleted {'its copy' if one.deleted == 1 else 'their copies'}"
    if not count and one.deleted:
        return f"{counted(one.deleted, 'transcript')} skipped, {reason}"
    changes = [
        f"{number:,} {word}"
        for number, word in (
            (one.new, "new"),
            (one.grown, "with new messages"),
            (one.replaced, "rewritten by the tool"),
        )
        if number
    ]
    sizes = f"{size(one.sources)} compressed to {size(one.packed)}"
    skipped = f"; {one.deleted:,} skipped, {reason}" if one.deleted else ""
    return (
        f"{counted(count, 'transcript')}, {', '.join(changes) or 'nothing new'}; {sizes}{skipped}"
    )
