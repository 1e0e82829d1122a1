"""Auto-pause: write `paused` into conversations without activity for `sessions.pause_minutes`.

Hooks start a process for it, `cortext watch` does it when it is due, and a command that says
"auto-saved and paused" does it before it says so. What was said until then is captured; nothing is
committed. Lists import this module, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cortext import paths
from cortext.workspace.inactivity import REASON, find_idle, latest_idle

if TYPE_CHECKING:
    from cortext.catalog.catalog import Catalog
    from cortext.catalog.row import ConversationRow
    from cortext.model.session import Session
    from cortext.stores.workspace_layout import ConversationPath
    from cortext.workspace.workspace import Workspace

EVERY = 60.0
"""Seconds between two looks at a workspace: a tool calls hooks much more often."""
_RECENT_MICROS = 30 * 86_400 * 1_000_000
_PATIENCE = 1.0
"""Seconds that a list spends on writing pauses; the next list continues."""


class _GoesOnError(Exception):
    """The conversation is not idle after all."""


def rested(rows: Iterable[ConversationRow]) -> list[ConversationRow]:
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

    from cortext.features.archive.background import is_time, start_detached

    name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
    if is_time(os.path.join(paths.running(), "resting", name), EVERY):
        start_detached("-m", __name__, root, going_on)


def pause_resting(root: str, going_on: str = "") -> None:
    """Pause the idle conversations of a workspace on disk, except the one at the path `going_on`.

    Conversations of other machines and those that a tool has open stay active. A failure goes to
    the log that `cortext doctor` shows, and the next call tries again.
    """
    from cortext.catalog.catalog import Catalog
    from cortext.config import Config

    minutes = float(Config.load(root)["sessions.pause_minutes"])
    with Catalog.at_home() as catalog:
        idle = find_idle(catalog.list([root]), minutes)
    for row in idle:
        if row.path != going_on:
            _pause(row, minutes)


def pause_and_record(catalog: Catalog, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Pause idle rows on disk; return those that are paused now and were not announced yet.

    The catalog notes them as announced. It also notes conversations of other machines and those
    that could not be paused, so that lists do not try again. The next list tries again what a tool
    has open or locks, and what there was no time for.
    """
    minutes = {root: _pause_minutes(root) for root in {row.workspace for row in rows}}
    deadline = time.monotonic() + _PATIENCE
    settled = {
        row.identity
        for row in rows
        if row.status == "paused"
        or (time.monotonic() < deadline and _pause(row, minutes[row.workspace]))
    }
    # What was captured may be later than what the rows say.
    now = [row for row in catalog.list(list(minutes)) if row.identity in settled]
    return rested(catalog.tell_once(now))


def _pause_minutes(root: str) -> float:
    """Return the setting of a workspace; 0, which pauses nothing, if its file cannot be read."""
    from cortext.config import Config
    from cortext.errors import CortextError

    try:
        return float(Config.load(root)["sessions.pause_minutes"])
    except CortextError:
        return 0.0  # the commands in that workspace say what is wrong


def _pause(row: ConversationRow, minutes: float) -> bool:
    """Pause one conversation on disk, if it is idle; return False if that has to be tried again."""
    from cortext.errors import SessionLockedError
    from cortext.features.errors_log import write_error

    try:
        return _capture_and_pause(row, minutes)
    except Exception as error:  # noqa: BLE001  one conversation must not keep the others
        write_error(f"pausing {row.key}", error)
        return not isinstance(error, SessionLockedError)  # a lock is free again soon


def _capture_and_pause(row: ConversationRow, minutes: float) -> bool:
    from cortext.features.capture.capture import capture
    from cortext.workspace.workspace import Workspace

    workspace = Workspace(row.workspace)
    native = workspace.store.head_at(row.place).native
    if not _is_ours(workspace, row.place, native) or not os.access(row.place.session, os.W_OK):
        return True
    if not minutes or _is_live(native) or workspace.is_locked(row.place):
        return False  # a list does not wait for a lock
    capture(row.workspace, row.place)

    def change(session: Session) -> bool:
        said = [message.timestamp for message in session.messages[-1:]]
        last = max([session.updated_at, *said]).timestamp() * 1_000_000
        if session.status != "active" or last >= latest_idle(minutes) or _is_live(session.native):
            raise _GoesOnError
        session.status, session.stop_reason = "paused", REASON
        return False

    try:
        workspace.change(row.place, change)
    except _GoesOnError:
        return False  # somebody continued or stopped it meanwhile
    return True


def _is_ours(workspace: Workspace, place: ConversationPath, native: list[dict[str, Any]]) -> bool:
    """Return whether a conversation is of this machine: it was bound here or, if it has no tool
    session, written here. A conversation that came by git may be active where it came from."""
    from cortext.features.capture.pending_bindings import is_here

    if native:
        return any(is_here(place, entry) for entry in native)
    return workspace.began(place) or os.path.exists(workspace.store.lock_of(place))


def _is_live(native: list[dict[str, Any]]) -> bool:
    """Whether a tool has one of these sessions, or the process runs that one is waited for of."""
    from cortext.features.capture.pending_bindings import is_awaited
    from cortext.tools.running import live_sessions

    if not native:
        return False
    if any(is_awaited(entry) for entry in native):
        return True
    live = live_sessions()
    return any((entry.get("tool"), entry.get("session_id")) in live for entry in native)


def _main(root: str, going_on: str) -> None:
    try:
        pause_resting(root, going_on)
    except Exception as error:  # noqa: BLE001  nobody sees it but by the log
        from cortext.features.errors_log import write_error

        write_error("pausing what rests", error)


if __name__ == "__main__":
    _main(*sys.argv[1:])
