"""The folders and files that `cortext watch` follows, and how it notices changes in them.

The operating system reports changes in whole folders. A few single files, and the list of folders,
are checked every few seconds. If the system cannot report changes, everything counts as changed at
regular intervals.

A change is reported as a name: that of a tool, or "workspaces", "aur" or "documents".
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from cortext import paths
from cortext.config import Config
from cortext.errors import CortextError, where_and_why
from cortext.features.listing import standalone_sessions
from cortext.installation import install_command
from cortext.stores.workspace_layout import shelves
from cortext.tools.registry import tool_names, tools
from cortext.tools.transcript_folders import databases
from cortext.workspace.known_folders import known_workspaces

T = TypeVar("T")
OURS = ("workspaces", "aur", "documents")
EVERYTHING = frozenset((*tool_names(), *OURS))
"""All names of sources that can change: the tools, and the names in `OURS`."""
EVERY = 5.0
"""Seconds between two checks of everything if the system does not report changes."""
_SWEEP = 600.0
"""Seconds after which everything is checked anyway, because the system may miss a change."""
_FOLDERS_EVERY = 3.0
"""Seconds between two checks whether folders were added or removed."""
_TICK, _STEP, _GROUP = 1000, 100, 1000
"""Milliseconds: one wait for events, the pause that ends a series of events, its longest time."""

Say = Callable[[str, str], None]
"""A callback that gets a sentence for the user, and a hint or ""."""
Print = tuple[int, ...]


def folders() -> dict[str, str]:
    """Return the existing folders to watch, each with its source name, such as "claude".

    A folder inside another watched folder is left out.
    """
    found: dict[str, str] = {}
    for path, name in _all_folders():
        real = os.path.realpath(path)
        if os.path.isdir(real):
            found.setdefault(real, name)
    above = tuple(f"{path}/" for path in found)
    return {path: name for path, name in found.items() if not path.startswith(above)}


def _all_folders() -> Iterator[tuple[str, str]]:
    for tool in tools():
        for name in tool.transcript_roots:
            yield os.path.join(tool.home, name), tool.name
    for root in known_workspaces():
        for shelf in shelves(root):
            yield shelf, "workspaces"
    yield paths.spawn_sessions(), "aur"
    config = Config.load(None)
    for documents in standalone_sessions.shelves(config, known_workspaces()):
        yield documents.folder, "documents"
    for folder in standalone_sessions.log_folders(config):
        yield folder, "documents"


def files() -> dict[str, str]:
    """Return the single files to check, each with its source name.

    The files need not exist. Databases are checked as single files, because their folders contain
    many other files. Each database has a second file, the write-ahead log, to which new data is
    written first.
    """
    found = {paths.known_workspaces(): "workspaces"}
    for tool in tools():
        found |= {os.path.join(tool.home, name): tool.name for name in tool.companions}
        for path in databases(tool, tool.home):
            found |= {path: tool.name, f"{path}-wal": tool.name}
    return found


def fingerprint_file(path: str) -> Print:
    """Return a value that changes if a file is replaced or written to.

    Return () if there is no file.
    """
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Watcher:
    """A watcher that notices changes in conversations from its creation on.

    `say` gets a sentence if the system cannot report changes, or if new folders cannot be found.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self.polls: bool = False
        """Whether everything is checked regularly, because the system does not report changes."""
        self._folders: dict[str, tuple[str, Print]] = {}
        self._events: Generator[set[Any]] | None = None
        self._some_closed = False
        """Whether this user has no permission to read some of the folders."""
        self._early: set[str] = set()
        self._prints = _prints()
        self._swept = time.monotonic()
        self._trouble = ""
        self._begin(_there())

    @property
    def watched(self) -> list[str]:
        """The paths of the watched folders."""
        return list(self._folders)

    def wait(self, until: float) -> set[str]:
        """Wait for changes, and return the names of the changed sources.

        Return an empty set if nothing changed before the monotonic time `until`.
        """
        while True:
            changed = self._early | self._told() | self._seen()
            self._early = set()
            now = time.monotonic()
            if now >= self._swept + (EVERY if self.polls else _SWEEP):
                changed |= EVERYTHING
            if changed >= EVERYTHING:
                self._swept = now
            if changed or now >= until:
                return changed

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    def _begin(self, there: dict[str, tuple[str, Print]]) -> None:
        """Start to watch the folders in `there`, which also has their names and fingerprints."""
        self.close()
        self._folders, self._looked = there, time.monotonic()
        if self.polls or not self._folders:
            return
        try:
            from watchfiles import watch
        except ModuleNotFoundError:
            why = "the package watchfiles is not installed"
            self._poll(why, f"install it with `{install_command('watchfiles')}`")
            return
        logging.getLogger("watchfiles").setLevel(logging.ERROR)
        self._events = watch(
            *self._folders,
            watch_filter=None,
            debounce=_GROUP,
            step=_STEP,
            rust_timeout=_TICK,
            yield_on_timeout=True,
            ignore_permission_denied=self._some_closed,
        )
        # watchfiles starts to watch at the first `next`.
        self._early |= self._told()

    def _told(self) -> set[str]:
        """Wait about a second for changes that the system reports.

        Return the names of their sources.
        """
        if self._events is None:
            time.sleep(_TICK / 1000)
            return set()
        try:
            changes = next(self._events)
        except FileNotFoundError:
            self._events, self._looked = None, 0.0  # one of the folders was just removed
            return set()
        except PermissionError:
            # Not set from the start, because it would also hide the error about the system's limit.
            self._events, self._some_closed, self._looked = None, True, 0.0
            return set()
        except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError in its thread
            self._poll(_reason(error), "a higher fs.inotify.max_user_watches lets it be told")
            return set(EVERYTHING)
        if any(path in self._folders for _, path in changes):
            # A watched folder was removed, and a new one in its place may even have the same inode.
            self.close()
            self._looked = 0.0
        return {name for _, path in changes if (name := self._name(path))}

    def _poll(self, why: str, hint: str) -> None:
        self.close()
        self.polls = True
        self._say(f"changes are looked for every {EVERY:g} seconds: {why}", hint)

    def _seen(self) -> set[str]:
        """Check the single files, and return the names of the changed sources.

        Return all names if the set of folders changed, because earlier changes in new folders were
        not reported.
        """
        prints = _prints()
        changed = {name for path, (name, now) in prints.items() if self._before(path) != now}
        self._prints = prints
        if "workspaces" not in changed and time.monotonic() < self._looked + _FOLDERS_EVERY:
            return changed
        self._looked = time.monotonic()
        there = self._safely(_there)
        settled = self._events or self.polls or not self._folders
        if there is None or (there == self._folders and settled):
            return changed
        self._begin(there)
        return set(EVERYTHING)

    def _safely(self, work: Callable[[], T]) -> T | None:
        """Return the result of `work`, or None after an error.

        The same error is reported only once.
        """
        try:
            found = work()
        except (OSError, CortextError) as error:
            if str(error) != self._trouble:
                self._say(f"new folders are not noticed: {where_and_why(error)}", "")
            self._trouble = str(error)
            return None
        self._trouble = ""
        return found

    def _before(self, path: str) -> Print:
        return self._prints.get(path, ("", ()))[1]

    def _name(self, path: str) -> str:
        """Return the source name of a changed file; "" for internal files of cortext."""
        if "/.cortext/" in path or path.endswith(".lock"):
            return ""
        return next((n for f, (n, _) in self._folders.items() if path.startswith(f)), "")


def _there() -> dict[str, tuple[str, Print]]:
    """Return the watched folders with their names and identities.

    The identity differs if another folder takes the place of the old one.
    """
    return {path: (name, fingerprint_file(path)[:2]) for path, name in folders().items()}


def _prints() -> dict[str, tuple[str, Print]]:
    return {path: (name, fingerprint_file(path)) for path, name in files().items()}


def _reason(error: BaseException) -> str:
    """Return the message of a system error without its technical details."""
    return str(error).partition(" (")[0].partition(". about")[0].lower()
