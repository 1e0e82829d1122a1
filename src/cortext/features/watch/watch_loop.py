"""The work of `cortext watch`: follow all conversations while they take place.

Changed sessions are archived, captured into their conversations and indexed. Idle conversations are
paused. Commands and hooks call the same functions. Therefore nothing is lost or done twice if this
process is killed or never runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.config import Config
from cortext.durability.live_session_mark import LiveMark
from cortext.errors import CortextError, SessionLockedError, file_and_reason
from cortext.features.archive.archive_sync import ToolSyncResult, sync
from cortext.features.capture.capture import capture
from cortext.features.capture.pending_bindings import resolve_pending_all
from cortext.features.errors_log import write_error
from cortext.features.listing.background_catalog_refresh import read_all
from cortext.features.manage import auto_pause
from cortext.features.search.search_results import Finder
from cortext.features.watch.change_watcher import EVERYTHING, Watcher
from cortext.tools.registry import open_bridge, tool_names
from cortext.workspace.idle_conversations import REASON, find_idle
from cortext.workspace.known_folders import known_workspaces

_RECENT_MICROS = 7 * 86_400 * 1_000_000
"""The first round skips conversations that are not active and older than this (microseconds)."""
_PAUSE_FACTOR = 3.0
"""A pause takes this many times as long as the work before it. This limits the processor load."""
_MAX_PAUSE = 30.0
_RETRY_SECONDS = 2.0
"""Seconds until work that another process blocked is tried again."""


class WatchEvent(msgspec.Struct, frozen=True):
    """A report of something that `cortext watch` did.

    `did` is a single word such as "archived", or "failed". `text` is a sentence for the user, and
    `facts` has the details for JSON output. `hint` says what the user can do, or is "".
    """

    did: str
    text: str
    facts: dict[str, Any]
    hint: str = ""


Tell = Callable[[WatchEvent], None]


def lock_watch() -> LiveMark:
    """Become the only process that runs `cortext watch`, until the returned lock is released.

    Raises SessionLockedError if another process is already running it. The error names that
    process.
    """
    mark = LiveMark(paths.watch_lock_file())
    holder = mark.take()
    if holder is not None:
        error = SessionLockedError(paths.watch_lock_file(), holder=holder, waited=0.0)
        error.args = (f"`cortext watch` is already running: {holder}",)
        error.hint = "one process is enough for all tools and workspaces; stop it to start another"
        raise error
    return mark


class WatchLoop:
    """The loop of `cortext watch`.

    `tell` is called with an event for each piece of work. A failure is reported once, and the
    failed work is tried again.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._ended = False
        self._failures: dict[str, set[str]] = {}
        self._fingerprints: dict[str, dict[str, str]] = {}
        self._pause_tried: dict[tuple[str, str], float] = {}
        """The time of the last attempt to pause each idle conversation that is still active."""
        self._retry: set[str] = set()
        """The source names to process again, because another process blocked the work."""
        self._next_idle = 0.0
        """The time when the next conversation may become idle; 0 for never.

        The time is in seconds since 1970.
        """

    def end(self) -> None:
        """Stop the loop before its next piece of work.

        A signal handler calls this method and then raises KeyboardInterrupt. The method is needed
        because other code may catch and ignore that exception.
        """
        self._ended = True

    def follow(self) -> None:
        """Process all conversations once, and then each change, until a KeyboardInterrupt."""
        watcher = Watcher(
            lambda why, hint: self._tell(WatchEvent("noticing", why, {"why": why}, hint))
        )
        try:
            text = f"watching {_count_text(len(watcher.watched), 'folder')}"
            facts = {"pid": os.getpid(), "folders": watcher.watched, "polls": watcher.polls}
            self._tell(WatchEvent("watching", text, facts))
            changed: Collection[str] = EVERYTHING
            while True:
                began = time.monotonic()
                self.once(changed)
                # Changes during this pause are handled together.
                time.sleep(min((time.monotonic() - began) * _PAUSE_FACTOR, _MAX_PAUSE))
                changed = watcher.wait(self._next_deadline()) | self._retry
        finally:
            watcher.close()

    def once(self, changed: Collection[str] = EVERYTHING) -> None:
        """Process the changed sources once: archive, capture, pause and index.

        `changed` has the names of the sources, as `Watcher.wait` returns them.
        """
        self._retry = set()
        tools = [tool for tool in tool_names() if tool in changed]
        for tool in tools:
            self._safely(f"archiving {tool}", lambda tool=tool: self._archive(tool))
            self._safely(f"binding {tool}", lambda tool=tool: resolve_pending_all(tool))
        rows: list[ConversationRow] = []
        self._safely("listing", lambda: rows.extend(_rows()))
        for tool in tools:
            self._safely(f"capturing {tool}", lambda tool=tool: self._capture(tool, rows))
        self._pause(rows)
        if changed:
            self._safely("indexing", self._index)

    def _next_deadline(self) -> float:
        """Return the time, of the monotonic clock, at which to continue even if nothing changes."""
        wait = max(self._next_idle - time.time(), 0.1) if self._next_idle else 3600.0
        return time.monotonic() + (_RETRY_SECONDS if self._retry else wait)

    def _safely(self, doing: str, work: Callable[[], None]) -> bool:
        """Run one piece of work and return whether it succeeded.

        `doing` names the work in reports. If the work fails, the failure is reported and False is
        returned. If `end` was called, raise KeyboardInterrupt instead.
        """
        if self._ended:
            raise KeyboardInterrupt
        try:
            work()
        except (OSError, CortextError) as error:
            self._report_failures(doing, {f"{doing}: {file_and_reason(error)}"})
        except Exception as error:  # noqa: BLE001  the loop must run for days, whatever fails
            write_error(doing, error)
            self._report_failures(
                doing, {f"{doing}: unexpected error: {type(error).__name__}: {error}"}
            )
        else:
            self._report_failures(doing, ())
            return True
        return False

    def _report_failures(self, doing: str, now: Iterable[str]) -> None:
        """Report the failures of a piece of work, except failures that its previous run also had.

        `doing` names the work, and `now` are its failures. If a failure disappears and comes back,
        it is reported again.
        """
        before, now = self._failures.get(doing, set()), set(now)
        self._failures[doing] = now
        for what in sorted(now - before):
            self._tell(WatchEvent("failed", what, {"doing": doing, "reason": what}))

    def _archive(self, tool: str) -> None:
        is_off = Config.load(None)["archive.enabled"] != "on"
        self._report_failures(
            "copying", {"the archive is turned off, so nothing is copied"} if is_off else ()
        )
        if is_off:
            return
        try:
            result = sync(tools=[tool])
        except SessionLockedError:
            self._retry.add(tool)  # the other process may have missed the latest changes
            return
        self._report_failures(
            f"copying {tool}", {f"not copied: {e.path}: {e.reason}" for e in result.errors}
        )
        for one in result.tools:
            counts = {"new": one.new, "grown": one.grown, "replaced": one.replaced}
            if any(counts.values()):
                facts = {"tool": tool, **counts, "bytes": one.read}
                self._tell(WatchEvent("archived", f"archived {tool}: {_describe(one)}", facts))

    def _capture(self, tool: str, rows: Sequence[ConversationRow]) -> None:
        """Capture the new messages of a tool's changed sessions into their conversations."""
        known = self._fingerprints.get(tool)
        fingerprints = {source.id: source.print for source in open_bridge(tool).sources()}
        self._fingerprints[tool] = fingerprints
        if known is None:
            since = int(time.time() * 1_000_000) - _RECENT_MICROS
            rows = [row for row in rows if row.status == "active" or row.last_active >= since]
        changed = {id for id, now in fingerprints.items() if not known or known.get(id) != now}
        for row in rows:
            changed_ids = changed.intersection(row.session_ids) if row.status else ()
            work = partial(self._capture_row, tool, row)
            if changed_ids and not self._safely(f"capturing {row.key}", work):
                for id in changed_ids:
                    fingerprints.pop(id)  # so that the next round tries it again

    def _capture_row(self, tool: str, row: ConversationRow) -> None:
        try:
            found = capture(row.workspace, row.place)
        except FileNotFoundError:
            return  # the conversation was deleted meanwhile
        self._report_failures(
            f"notes of {row.workspace}/{row.path}", {f"{row.key}: {n}" for n in found.notes}
        )
        if found.new:
            text = f"captured {_count_text(found.new, 'message')} into {row.key}"
            facts = {"id": row.key, "root": row.workspace, "tool": tool, "messages": found.new}
            self._tell(WatchEvent("captured", text, facts))

    def _pause(self, rows: Sequence[ConversationRow]) -> None:
        """Pause idle conversations, which are active conversations without recent activity.

        Set `_next_idle` to the time at which the next conversation may become idle.
        """
        due: list[float] = []
        for root in dict.fromkeys(row.workspace for row in rows if row.status == "active"):
            active = [row for row in rows if row.workspace == root and row.status == "active"]
            if not self._safely(
                f"pausing in {root}", partial(self._pause_workspace, root, active, due)
            ):
                due.append(time.time() + auto_pause.EVERY)
        self._next_idle = min(due, default=0.0)

    def _pause_workspace(
        self, root: str, active: Sequence[ConversationRow], due: list[float]
    ) -> None:
        """Pause the idle conversations of one workspace.

        `active` are the active conversations of the workspace. Add to `due` the times at which
        these conversations must be checked again. If a tool still has an idle conversation open,
        the next check is a minute later.
        """
        minutes = float(Config.load(root)["sessions.pause_minutes"])
        if not minutes:
            return
        now = time.time()
        idle = {row.identity: row for row in find_idle(active, minutes)}
        due += [row.last_active / 1e6 + minutes * 60 for row in active if row.identity not in idle]
        if any(now >= self._pause_tried.get(key, 0.0) + auto_pause.EVERY for key in idle):
            auto_pause.pause_idle_conversations(root)
            self._tell_paused(root, idle)
            self._pause_tried |= dict.fromkeys(idle, now)
        due += [self._pause_tried[key] + auto_pause.EVERY for key in idle]

    def _tell_paused(self, root: str, idle: dict[tuple[str, str], ConversationRow]) -> None:
        with Catalog.at_home() as catalog:
            rows = catalog.list([root])
        for row in rows:
            if row.identity in idle and (row.status, row.stop_reason) == ("paused", REASON):
                facts = {"id": row.key, "root": root}
                self._tell(WatchEvent("paused", f"paused {row.key}, which was idle", facts))

    def _index(self) -> None:
        """Bring the catalog and the full-text index up to date."""
        with closing(Finder()) as finder:
            left = finder.conversations.left
            found = None if left else finder.refresh(patience=None)
        if found is None:
            read_all()
            with closing(Finder()) as finder:
                found = finder.refresh(patience=None)
        if found.why:
            self._retry.add("documents")
        self._report_failures(
            "reading", {f"the search index is incomplete: {found.why}"} if found.why else ()
        )
        if found.messages:
            text = f"indexed {_count_text(found.read, 'conversation')}"
            text += f", {_count_text(found.messages, 'new text')}"
            facts = {"conversations": found.read, "texts": found.messages}
            self._tell(WatchEvent("indexed", text, facts))


def _rows() -> list[ConversationRow]:
    """Return the conversations of all known workspaces whose folders exist."""
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        return catalog.list(roots)


def _describe(one: ToolSyncResult) -> str:
    words = ((one.new, "new"), (one.grown, "with new messages"), (one.replaced, "rewritten"))
    return ", ".join(f"{number} {word}" for number, word in words if number)


def _count_text(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
