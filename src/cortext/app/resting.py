"""Conversations that rest: what nobody went on with for some minutes is paused by itself.

Reading commands only show it so. Hooks write it, with what was said until then, and commit nothing.
That it was written is noted, for the next list says it once. Lists import this module, so it
imports next to nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cortext import paths

if TYPE_CHECKING:
    from cortext.index.listed import Listed
    from cortext.model.session import Session
    from cortext.stores.layout import Place

REASON = "idle"
"""The `stop_reason` of a conversation that went to rest by itself."""
_FEW = 2
"""How many are paused in one call of a hook: a tool waits for it, and the others can too."""
_KEPT_MICROS = 30 * 86_400 * 1_000_000


def resting(rows: Iterable[Listed], minutes: float) -> list[Listed]:
    """Those that are active on disk, and rested for longer than this; 0 is for ever."""
    limit = _limit(minutes)
    return [r for r in rows if r.status == "active" and r.last_active < limit and minutes]


def pause_resting(rows: Sequence[Listed], minutes: float, *, going_on: Place | None = None) -> None:
    """Write of a few resting conversations that they are paused: of none that is live, nor of the
    one that is going on. What cannot be is logged, and tried again with the next event."""
    idle = [row for row in resting(rows, minutes) if row.place != going_on]
    if not idle:
        return
    from cortext.bridges.live import live_sessions
    from cortext.errors import CortextError

    live = {id for _, id in live_sessions()}
    for row in [row for row in idle if live.isdisjoint(row.native)][:_FEW]:
        try:
            _pause(row, minutes)
        except (OSError, CortextError) as error:
            import logging

            logging.getLogger("cortext.app").warning("%s was not paused: %s", row.key, error)


def rested(rows: Iterable[Listed]) -> list[Listed]:
    """Those that a hook paused, and nobody went on with since."""
    noted = _noted()
    if not noted:
        return []
    return [r for r in rows if r.status == "paused" and r.last_active <= noted.get(r.identity, 0)]


def was_stopped(row: Listed) -> bool:
    """Whether a person stopped it, perhaps after it went to rest."""
    if row.status == "active":
        return False
    from cortext.lifecycle.workspace import Workspace

    return Workspace(row.root).store.head_at(row.place).stop_reason != REASON


def _noted() -> dict[tuple[str, str], int]:
    """When hooks paused what, in microseconds since 1970, by its identity."""
    found: dict[tuple[str, str], int] = {}
    try:
        with open(_file(), "rb") as file:
            lines = os.fsdecode(file.read()).split("\n")
    except OSError:
        return found
    for line in lines:
        root, _, rest = line.partition("\0")
        path, _, when = rest.partition("\0")
        if when.isascii() and when.isdecimal():
            found[root, path] = int(when)
    return found


def _pause(row: Listed, minutes: float) -> None:
    """Save what was said, and pause it unless that is new."""
    from cortext.app.capture import capture
    from cortext.lifecycle.workspace import Workspace

    workspace = Workspace(row.root)
    if capture(row.root, row.place).new:
        (last,) = workspace.store.tail(row.path, 1)
        if last.timestamp.timestamp() * 1_000_000 >= _limit(minutes):
            return

    def change(session: Session) -> bool:
        if session.status == "active":
            session.status, session.stop_reason = "paused", REASON
        return False

    paused = workspace.change(row.place, change)
    if paused.stop_reason == REASON:
        _note(row)


def _note(row: Listed) -> None:
    from cortext.durability.replace import make_private_dir, replace

    now = int(time.time() * 1_000_000)
    known = {key: when for key, when in _noted().items() if when >= now - _KEPT_MICROS}
    known[row.identity] = now
    text = "".join(f"{root}\0{path}\0{when}\n" for (root, path), when in known.items())
    make_private_dir(paths.running())
    replace(_file(), [os.fsencode(text)])


def _limit(minutes: float) -> int:
    return int((time.time() - minutes * 60) * 1_000_000)


def _file() -> str:
    return os.path.join(paths.running(), "rested")
