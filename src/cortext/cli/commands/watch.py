"""`cortext watch`."""

from __future__ import annotations

import logging
import os
import signal
from typing import TYPE_CHECKING

import click

from cortext import clock, paths
from cortext.cli.terminal_text import clean, local
from cortext.features.archive.background_sync import notice
from cortext.features.watch.watch import WatchEvent, WatchLoop, take_turn
from cortext.model import json_codec, record_dicts
from cortext.workspace.known_folders import remember_workspace

if TYPE_CHECKING:
    from types import FrameType


_MOST = 1000
"""Warnings that are remembered, so that each is said once."""


@click.command("watch")
@click.option("--once", is_flag=True, help="Do what is due now, and end.")
@click.option("--quiet", is_flag=True, help="Say only what fails.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
def command(once: bool, quiet: bool, as_json: bool) -> None:
    """Follow your conversations while they are had: copy what the AI tools write into the archive,
    capture what belongs to a conversation, pause what rests, and keep the search up to date.

    A line is printed for each thing that was done. It runs until Ctrl+C, and nothing else needs
    it; the folders of the tools are only read.
    """
    shown = _WatchOutput(quiet=quiet, as_json=as_json)
    logger = logging.getLogger("cortext")
    logger.addHandler(_Once(shown))
    logger.propagate = False
    mark = take_turn()
    _leave_here()
    watching = WatchLoop(shown.tell)
    ending = _WatchSignals(watching)
    try:
        if once:
            watching.once()
            if not quiet and (said := notice()):
                click.echo(clean(said, lines=False), err=True)
            return
        os.nice(10)
        watching.follow()
    except KeyboardInterrupt:
        if not ending.asked:
            raise
    finally:
        mark.release()


def _leave_here() -> None:
    """Register the current workspace, and change to `/` so that the folder can be deleted."""
    remember_workspace(paths.workspace_root())
    os.chdir("/")


class _WatchSignals:
    """SIGTERM ends it as Ctrl+C does, and is no failure. Who started it in the background may have
    Ctrl+C ignored."""

    def __init__(self, watching: WatchLoop) -> None:
        self.asked = False
        self._watching = watching
        signal.signal(signal.SIGTERM, self._end)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._end)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.asked = number == signal.SIGTERM
        self._watching.end()
        raise KeyboardInterrupt


class _WatchOutput:
    """What was done, a line each, the time first. What fails goes to stderr, unless programs
    read it."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._as_json = quiet, as_json

    def tell(self, did: WatchEvent) -> None:
        failed = did.did in ("failed", "noticing")
        if self._quiet and not failed:
            return
        if self._as_json:
            facts = {"time": record_dicts.iso(clock.now()), "did": did.did, **did.facts}
            click.echo(json_codec.encode(facts))
            return
        warning = "warning: " if failed else ""
        line = f"{local(clock.now())} {warning}{clean(did.text, lines=False)}"
        click.echo(line, err=failed)
        if did.hint:
            click.echo(f"hint: {did.hint}", err=True)


class _Once(logging.Handler):
    """Warnings of the library: it looks at the same things again and again."""

    def __init__(self, shown: _WatchOutput) -> None:
        super().__init__(logging.WARNING)
        self._shown, self._said = shown, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text in self._said:
            return
        if len(self._said) >= _MOST:
            self._said.clear()
        self._said.add(text)
        self._shown.tell(WatchEvent("failed", text, {"doing": "reading", "reason": text}))
