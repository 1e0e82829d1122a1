"""Conversations that rest: what nobody went on with for some minutes is paused by itself.

Reading commands only show it so. Hooks have it written, by a process of its own, with what was
said until then; nothing is committed. Lists import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cortext import paths

if TYPE_CHECKING:
    from cortext.index.listed import Listed
    from cortext.lifecycle.workspace import Workspace
    from cortext.model.session import Session
    from cortext.stores.layout import Place

REASON = "idle"
"""The `stop_reason` of a conversation that went to rest by itself."""
EVERY = 60.0
"""Seconds between two looks at a workspace: a tool calls hooks much more often."""
_RECENT_MICROS = 30 * 86_400 * 1_000_000


class _GoesOnError(Exception):
    """It does not rest after all."""


def resting(rows: Iterable[Listed], minutes: float) -> list[Listed]:
    """Those that are active on disk, and rested for longer than this; 0 is for ever."""
    limit = _limit(minutes)
    return [r for r in rows if r.status == "active" and r.last_active < limit and minutes]


def rested(rows: Iterable[Listed]) -> list[Listed]:
    """Those that were paused by themselves of late, and nobody stopped or went on with since."""
    since = int(time.time() * 1_000_000) - _RECENT_MICROS
    return [
        row
        for row in rows
        if row.status == "paused" and row.last_active >= since and row.stop_reason == REASON
    ]


def let_rest(root: str, going_on: str = "") -> None:
    """Have what rests in a workspace paused by a process of its own, which nobody waits for: not
    again if one was started a moment ago. `going_on` is the path of one that does not rest."""
    from hashlib import blake2b

    from cortext.app.background import is_time, start_detached

    name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
    if is_time(os.path.join(paths.running(), "resting", name), EVERY):
        start_detached("-m", __name__, root, going_on)


def pause_resting(root: str, going_on: str = "") -> None:
    """Write of the conversations of a workspace that rest that they are paused: of those that were
    begun or bound on this machine, and that no tool has open. What cannot be is in the log that
    `cortext doctor` shows, and is tried again the next time."""
    from cortext.app.errors_log import write_error
    from cortext.config import Config
    from cortext.index.catalog import Catalog

    minutes = float(Config.load(root)["sessions.pause_minutes"])
    with Catalog.at_home() as catalog:
        idle = resting(catalog.list([root]), minutes)
    for row in [row for row in idle if row.path != going_on]:
        try:
            _pause(row, minutes)
        except Exception as error:  # noqa: BLE001  one of them must not keep the others
            write_error(f"pausing {row.key}", error)


def _pause(row: Listed, minutes: float) -> None:
    """Save what was said, and pause it unless it goes on."""
    from cortext.app.capture import capture
    from cortext.lifecycle.workspace import Workspace

    workspace = Workspace(row.root)
    native = workspace.store.head_at(row.place).native
    if not _is_ours(workspace, row.place, native) or _is_live(native):
        return
    capture(row.root, row.place)

    def change(session: Session) -> bool:
        said = [message.timestamp for message in session.messages[-1:]]
        last = max([session.updated_at, *said]).timestamp() * 1_000_000
        if session.status != "active" or last >= _limit(minutes) or _is_live(session.native):
            raise _GoesOnError
        session.status, session.stop_reason = "paused", REASON
        return False

    try:
        workspace.change(row.place, change)
    except _GoesOnError:
        return  # somebody went on with it, or stopped it, meanwhile


def _is_ours(workspace: Workspace, place: Place, native: list[dict[str, Any]]) -> bool:
    """Whether it was bound on this machine, or, where it was had in no tool, begun: what came by
    git may be going on where it came from."""
    from cortext.app.waiting import is_here

    return any(is_here(place, entry) for entry in native) if native else workspace.began(place)


def _is_live(native: list[dict[str, Any]]) -> bool:
    """Whether a tool has one of these sessions, or the process runs that one is waited for of."""
    from cortext.app.waiting import is_awaited
    from cortext.bridges.live import live_sessions

    if not native:
        return False
    if any(is_awaited(entry) for entry in native):
        return True
    live = live_sessions()
    return any((entry.get("tool"), entry.get("session_id")) in live for entry in native)


def _limit(minutes: float) -> int:
    return int((time.time() - minutes * 60) * 1_000_000)


def _main(root: str, going_on: str) -> None:
    try:
        pause_resting(root, going_on)
    except Exception as error:  # noqa: BLE001  nobody sees it but by the log
        from cortext.app.errors_log import write_error

        write_error("pausing what rests", error)


if __name__ == "__main__":
    _main(*sys.argv[1:])
