"""Pause idle conversations: those without activity for `sessions.pause_minutes`, a setting.

Hooks start a background process that pauses idle conversations. `cortext watch` and `cortext list`
pause them too; the list then shows "auto-saved and paused". New messages are captured before the
pause. Nothing is committed to git.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from hashlib import blake2b

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.config import Config
from cortext.errors import CortextError, SessionLockedError
from cortext.features.archive.background_sync import claim_start, start_detached
from cortext.features.capture.capture import capture
from cortext.features.capture.pending_bindings import is_bound_here, is_process_running
from cortext.features.errors_log import write_error
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding, bindings_of
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.idle_conversations import REASON, find_auto_paused, find_idle, idle_limit
from cortext.workspace.workspace import Workspace

EVERY = 60.0
"""The minimum number of seconds between two starts of the background process for a workspace."""
_PATIENCE = 1.0
"""The maximum time in seconds that one list spends on pausing. The next list continues."""


class _NotIdleError(Exception):
    """The conversation was used again before it could be paused."""


def start_pausing(root: str, current: str = "") -> None:
    """Start a process that pauses the idle conversations of a workspace, and do not wait for it.

    Nothing is started if such a process was started within the last minute. The conversation at the
    path `current` is never paused.
    """
    name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
    if claim_start(os.path.join(paths.running(), "resting", name), EVERY):
        start_detached("-m", __name__, root, current)


def pause_idle_conversations(root: str, current: str = "") -> None:
    """Pause the idle conversations of a workspace, except the conversation at the path `current`.

    Conversations of other machines stay active. Conversations that a tool has open stay active too.
    A failure is written to the log that `cortext doctor` shows, and the next call tries again.
    """
    minutes = float(Config.load(root)["sessions.pause_minutes"])
    with Catalog.at_home() as catalog:
        idle = find_idle(catalog.list([root]), minutes)
    for row in idle:
        if row.path != current:
            _pause(row, minutes)


def pause_and_record(catalog: Catalog, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Pause idle conversations. Return the paused conversations that were not announced before.

    A list announces each paused conversation to the user once. The catalog records which
    conversations are finished, so that the next list skips them. A conversation is finished if it
    is paused, belongs to another machine, or cannot be paused. If a conversation is open or locked,
    or if there was no time for it, the next list tries again.
    """
    minutes = {root: _pause_minutes(root) for root in {row.workspace for row in rows}}
    deadline = time.monotonic() + _PATIENCE
    finished_ids = {
        row.identity
        for row in rows
        if row.status == "paused"
        or (time.monotonic() < deadline and _pause(row, minutes[row.workspace]))
    }
    # The capture may have added new messages, so read the rows again.
    current = [row for row in catalog.list(list(minutes)) if row.identity in finished_ids]
    return find_auto_paused(catalog.tell_once(current))


def _pause_minutes(root: str) -> float:
    """Return the setting `sessions.pause_minutes` of a workspace; 0 if it cannot be read.

    0 means that nothing is paused.
    """
    try:
        return float(Config.load(root)["sessions.pause_minutes"])
    except CortextError:
        return 0.0  # The commands in that workspace report the error.


def _pause(row: ConversationRow, minutes: float) -> bool:
    """Pause one idle conversation.

    Return False if the caller must try again later. Return True if nothing is left to do.
    """
    try:
        return _capture_and_pause(row, minutes)
    except Exception as error:  # noqa: BLE001  the other conversations must still be paused
        write_error(f"pausing {row.key}", error)
        return not isinstance(error, SessionLockedError)  # a lock is soon free, so try again


def _capture_and_pause(row: ConversationRow, minutes: float) -> bool:
    workspace = Workspace(row.workspace)
    bindings = bindings_of(workspace.store.head_at(row.place))
    if not _is_of_this_machine(workspace, row.place, bindings) or not os.access(
        row.place.session, os.W_OK
    ):
        return True
    if not minutes or _is_live(bindings) or workspace.is_locked(row.place):
        return False  # A list does not wait for a lock.
    capture(row.workspace, row.place)

    def change(session: Session) -> bool:
        last_times = [message.timestamp for message in session.messages[-1:]]
        last = max([session.updated_at, *last_times]).timestamp() * 1_000_000
        is_idle = session.status == "active" and last < idle_limit(minutes)
        if not is_idle or _is_live(bindings_of(session)):
            raise _NotIdleError
        session.status, session.stop_reason = "paused", REASON
        return False

    try:
        workspace.change(row.place, change)
    except _NotIdleError:
        return False  # Somebody continued or stopped it meanwhile.
    return True


def _is_of_this_machine(
    workspace: Workspace, place: ConversationPath, bindings: Sequence[ToolBinding]
) -> bool:
    """Return whether a conversation took place on this machine.

    A conversation that came with git may still be active on another machine. `bindings` are the
    tool sessions of the conversation.
    """
    if bindings:
        return any(is_bound_here(place, each) for each in bindings)
    return workspace.began(place) or os.path.exists(workspace.store.lock_of(place))


def _is_live(bindings: Sequence[ToolBinding]) -> bool:
    """Return whether a tool has one of these sessions open now.

    A binding without a known session counts as open while the tool's process runs.
    """
    if not bindings:
        return False
    if any(is_process_running(each) for each in bindings):
        return True
    live = live_sessions()
    return any((each.tool, each.session_id) in live for each in bindings)


def _main(root: str, current: str) -> None:
    try:
        pause_idle_conversations(root, current)
    except Exception as error:  # noqa: BLE001  only the log shows it
        write_error("pausing idle conversations", error)


if __name__ == "__main__":
    _main(*sys.argv[1:])
