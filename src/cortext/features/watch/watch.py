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
from typing import Any, NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.config import Config
from cortext.durability.lifetime_lock import LiveMark
from cortext.errors import CortextError, SessionLockedError, where_and_why
from cortext.features.archive.archive_sync import ToolSynced, sync
from cortext.features.capture.capture import capture
from cortext.features.capture.pending_bindings import resolve_pending_all
from cortext.features.errors_log import write_error
from cortext.features.listing.background_reading import read_all
from cortext.features.manage import auto_pause
from cortext.features.search.search_results import Finder
from cortext.features.watch.change_watcher import EVERYTHING, Watcher
from cortext.tools.registry import open_bridge, tool_names
from cortext.workspace.inactivity import REASON, find_idle
from cortext.workspace.known_folders import known_workspaces

_RECENT_MICROS = 7 * 86_400 * 1_000_000
"""The first round skips conversations that are not active and older than this."""
_EASE = 3.0
"""Each pause is this many times as long as the work before it, to limit the processor load."""
_LONGEST_EASE = 30.0
_SOON = 2.0
"""Seconds until work that another process blocked is tried again."""


class WatchEvent(NamedTuple):
    """Something that `cortext watch` did, for its output.

    `did` is a single word such as "archived", or "failed". `text` is a sentence for the user, and
    `facts` has the details for JSON. `hint` is what the user can do, or "".
    """

    did: str
    text: str
    facts: dict[str, Any]
    hint: str = ""


Tell = Callable[[WatchEvent], None]


def take_turn() -> LiveMark:
    """Become the only process that runs `cortext watch`, until the returned mark is released.

    Raises SessionLockedError, which names the process that already watches.
    """
    mark = LiveMark(paths.watch_mark())
    holder = mark.take()
    if holder is not None:
        error = SessionLockedError(paths.watch_mark(), holder=holder, waited=0.0)
        error.args = (f"`cortext watch` runs already: {holder}",)
        error.hint = "one is enough for all tools and workspaces; end it to start another"
        raise error
    return mark


class WatchLoop:
    """The loop of `cortext watch`.

    `tell` gets an event for everything that is done. A failure is reported once, and the failed
    work is tried again.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._ended = False
        self._failed: dict[str, set[str]] = {}
        self._prints: dict[str, dict[str, str]] = {}
        self._tried: dict[tuple[str, str], float] = {}
        """When pausing was last tried, for each idle conversation whose status is still active."""
        self._again: set[str] = set()
        """The source names to process again, because another process blocked the work."""
        self._due = 0.0
        """When the next conversation may become idle, in seconds since 1970; 0 if none will."""

    def end(self) -> None:
        """Stop the loop before its next piece of work.

        A signal handler calls this in case its KeyboardInterrupt is lost.
        """
        self._ended = True

    def follow(self) -> None:
        """Process all conversations once, and then each change, until a KeyboardInterrupt."""
        watcher = Watcher(
            lambda why, hint: self._tell(WatchEvent("noticing", why, {"why": why}, hint))
        )
        try:
            text = f"watching {_counted(len(watcher.watched), 'folder')}"
            facts = {"pid": os.getpid(), "folders": watcher.watched, "polls": watcher.polls}
            self._tell(WatchEvent("watching", text, facts))
            changed: Collection[str] = EVERYTHING
            while True:
                began = time.monotonic()
                self.once(changed)
                # Changes during this pause are handled together.
                time.sleep(min((time.monotonic() - began) * _EASE, _LONGEST_EASE))
                changed = watcher.wait(self._until()) | self._again
        finally:
            watcher.close()

    def once(self, changed: Collection[str] = EVERYTHING) -> None:
        """Archive, capture, pause and index what has changed.

        `changed` has names of sources, as `Watcher.wait` returns them.
        """
        self._again = set()
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

    def _until(self) -> float:
        """Return the monotonic time at which the next work is due, even without a change."""
        wait = max(self._due - time.time(), 0.1) if self._due else 3600.0
        return time.monotonic() + (_SOON if self._again else wait)

    def _safely(self, doing: str, work: Callable[[], None]) -> bool:
        """Run one piece of work and return whether it succeeded.

        `doing` names the work in reports. A failure is reported, and other work continues. Raises
        KeyboardInterrupt after `end`.
        """
        if self._ended:
            raise KeyboardInterrupt
        try:
            work()
        except (OSError, CortextError) as error:
            self._fail(doing, {f"{doing}: {where_and_why(error)}"})
        except Exception as error:  # noqa: BLE001  the loop must run for days, whatever fails
            write_error(doing, error)
            self._fail(doing, {f"{doing}: something unexpected: {type(error).__name__}: {error}"})
        else:
            self._fail(doing, ())
            return True
        return False

    def _fail(self, doing: str, now: Iterable[str]) -> None:
        """Report the failures in `now` that are new for the work named `doing`.

        A failure that disappears and comes back is reported again.
        """
        before, now = self._failed.get(doing, set()), set(now)
        self._failed[doing] = now
        for what in sorted(now - before):
            self._tell(WatchEvent("failed", what, {"doing": doing, "reason": what}))

    def _archive(self, tool: str) -> None:
        off = Config.load(None)["archive.enabled"] != "on"
        self._fail("copying", {"the archive is turned off: nothing is copied"} if off else ())
        if off:
            return
        try:
            result = sync(tools=[tool])
        except SessionLockedError:
            self._again.add(tool)  # the other process may have missed the latest changes
            return
        self._fail(f"copying {tool}", {f"not copied: {e.path}: {e.reason}" for e in result.errors})
        for one in result.tools:
            counts = {"new": one.new, "grown": one.grown, "replaced": one.replaced}
            if any(counts.values()):
                facts = {"tool": tool, **counts, "bytes": one.read}
                self._tell(WatchEvent("archived", f"archived {tool}: {_told(one)}", facts))

    def _capture(self, tool: str, rows: Sequence[ConversationRow]) -> None:
        """Capture the new messages of a tool's changed sessions into their conversations."""
        known = self._prints.get(tool)
        prints = {source.id: source.print for source in open_bridge(tool).sources()}
        self._prints[tool] = prints
        if known is None:
            since = int(time.time() * 1_000_000) - _RECENT_MICROS
            rows = [row for row in rows if row.status == "active" or row.last_active >= since]
        changed = {id for id, now in prints.items() if not known or known.get(id) != now}
        for row in rows:
            held = changed.intersection(row.session_ids) if row.status else ()
            work = partial(self._take, tool, row)
            if held and not self._safely(f"capturing {row.key}", work):
                for id in held:
                    prints.pop(id)  # so that the next round tries it again

    def _take(self, tool: str, row: ConversationRow) -> None:
        try:
            found = capture(row.workspace, row.place)
        except FileNotFoundError:
            return  # the conversation was deleted meanwhile
        self._fail(f"notes of {row.workspace}/{row.path}", {f"{row.key}: {n}" for n in found.notes})
        if found.new:
            text = f"captured {_counted(found.new, 'message')} into {row.key}"
            facts = {"id": row.key, "root": row.workspace, "tool": tool, "messages": found.new}
            self._tell(WatchEvent("captured", text, facts))

    def _pause(self, rows: Sequence[ConversationRow]) -> None:
        """Pause idle conversations, and set when the next conversation may become idle."""
        due: list[float] = []
        for root in dict.fromkeys(row.workspace for row in rows if row.status == "active"):
            active = [row for row in rows if row.workspace == root and row.status == "active"]
            if not self._safely(f"pausing in {root}", partial(self._rest, root, active, due)):
                due.append(time.time() + auto_pause.EVERY)
        self._due = min(due, default=0.0)

    def _rest(self, root: str, active: Sequence[ConversationRow], due: list[float]) -> None:
        """Pause the idle conversations of one workspace, and add to `due` when to check again.

        `active` are its active conversations. A conversation that a tool still has open is tried
        again a minute later.
        """
        minutes = float(Config.load(root)["sessions.pause_minutes"])
        if not minutes:
            return
        now = time.time()
        idle = {row.identity: row for row in find_idle(active, minutes)}
        due += [row.last_active / 1e6 + minutes * 60 for row in active if row.identity not in idle]
        if any(now >= self._tried.get(key, 0.0) + auto_pause.EVERY for key in idle):
            auto_pause.pause_resting(root)
            self._tell_paused(root, idle)
            self._tried |= dict.fromkeys(idle, now)
        due += [self._tried[key] + auto_pause.EVERY for key in idle]

    def _tell_paused(self, root: str, idle: dict[tuple[str, str], ConversationRow]) -> None:
        with Catalog.at_home() as catalog:
            rows = catalog.list([root])
        for row in rows:
            if row.identity in idle and (row.status, row.stop_reason) == ("paused", REASON):
                facts = {"id": row.key, "root": root}
                self._tell(WatchEvent("paused", f"paused {row.key}, which rested", facts))

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
            self._again.add("documents")
        self._fail("reading", {f"not all can be found: {found.why}"} if found.why else ())
        if found.messages:
            text = f"indexed {_counted(found.read, 'conversation')}"
            text += f", {_counted(found.messages, 'new text')}"
            facts = {"conversations": found.read, "texts": found.messages}
            self._tell(WatchEvent("indexed", text, facts))


def _rows() -> list[ConversationRow]:
    """Return the conversations of all known workspaces whose folders exist."""
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        return catalog.list(roots)


def _told(one: ToolSynced) -> str:
    words = ((one.new, "new"), (one.grown, "grown"), (one.replaced, "written anew"))
    return ", ".join(f"{number} {word}" for number, word in words if number)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
