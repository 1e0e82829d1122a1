"""The command `cortext watch`: save new messages of all AI tools as they are written."""

from __future__ import annotations

import logging
import os
import signal
from typing import TYPE_CHECKING

import click

from cortext import clock, paths
from cortext.cli.terminal_text import clean, local
from cortext.features.archive.background_sync import notice
from cortext.features.watch.watch_loop import WatchEvent, WatchLoop, lock_watch
from cortext.model import json_codec, message_dicts
from cortext.workspace.known_folders import remember_workspace

if TYPE_CHECKING:
    from types import FrameType


_MAX_REMEMBERED = 1000
"""The maximum number of warnings that are remembered, so that each is printed only once."""


@click.command("watch")
@click.option("--once", is_flag=True, help="Do the pending work, and exit.")
@click.option("--quiet", is_flag=True, help="Print only failures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
def command(once: bool, quiet: bool, as_json: bool) -> None:
    """Archive, capture and index your conversations while they take place.

    The command copies the AI tools' transcripts into the archive, adds new messages to the
    conversations of workspaces, pauses idle conversations, and updates the search index. It prints
    a line for each action, and runs until Ctrl+C. It never changes the files of the tools. All
    other commands also work without it.
    """
    output = _WatchOutput(quiet=quiet, as_json=as_json)
    logger = logging.getLogger("cortext")
    logger.addHandler(_WarnOnce(output))
    logger.propagate = False
    mark = lock_watch()
    _leave_folder()
    loop = WatchLoop(output.tell)
    signals = _WatchSignals(loop)
    try:
        if once:
            loop.once()
            if not quiet and (text := notice()):
                click.echo(clean(text, lines=False), err=True)
            return
        os.nice(10)
        loop.follow()
    except KeyboardInterrupt:
        if not signals.is_terminated:
            raise
    finally:
        mark.release()


def _leave_folder() -> None:
    """Change the working directory to `/`, so that the user can delete the current folder.

    First register the current workspace, so that `watch` still includes it.
    """
    remember_workspace(paths.workspace_root())
    os.chdir("/")


class _WatchSignals:
    """The signal handlers of `watch`. SIGTERM and Ctrl+C end `watch`.

    After SIGTERM, the exit code is 0. If the parent process ignores SIGINT, `watch` ignores it too.
    """

    def __init__(self, watching: WatchLoop) -> None:
        self.is_terminated = False
        self._loop = watching
        signal.signal(signal.SIGTERM, self._end)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._end)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.is_terminated = number == signal.SIGTERM
        self._loop.end()
        raise KeyboardInterrupt


class _WatchOutput:
    """The output of `watch`: one line for each action, starting with the time.

    Failures go to stderr. With `as_json`, everything goes to stdout. With `quiet`, print only
    failures.
    """

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json

    def tell(self, event: WatchEvent) -> None:
        failed = event.did in ("failed", "noticing")
        if self._quiet and not failed:
            return
        if self._as_json:
            facts = {"time": message_dicts.iso(clock.now()), "did": event.did, **event.facts}
            click.echo(json_codec.encode(facts))
            return
        warning = "warning: " if failed else ""
        line = f"{local(clock.now())} {warning}{clean(event.text, lines=False)}"
        click.echo(line, err=failed)
        if event.hint:
            click.echo(f"hint: {event.hint}", err=True)


class _WarnOnce(logging.Handler):
    """A log handler that prints a repeated warning only once.

    `watch` reads the same files again and again, so the same warning is logged many times.
    """

    def __init__(self, shown: _WatchOutput) -> None:
        super().__init__(logging.WARNING)
        self._output, self._printed = shown, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text in self._printed:
            return
        if len(self._printed) >= _MAX_REMEMBERED:
            self._printed.clear()
        self._printed.add(text)
        self._output.tell(WatchEvent("failed", text, {"doing": "reading", "reason": text}))
