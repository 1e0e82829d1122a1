"""Find the folders and files that `cortext watch` follows, and notice changes in them.

The operating system reports changes in whole folders. A few single files, and the list of folders,
are checked every few seconds. If the system cannot report changes, everything counts as changed at
regular intervals.

A change is reported as the name of its source: a tool, "workspaces", "aur" or "documents".
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from cortext import paths
from cortext.config import Config
from cortext.errors import CortextError, file_and_reason
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
_FULL_CHECK_SECONDS = 600.0
"""Seconds after which everything is checked even without a report of a change.

The system may miss a change.
"""
_FOLDERS_SECONDS = 3.0
"""Seconds between two checks for added and removed folders."""
_WAIT_MILLIS, _QUIET_MILLIS, _MAX_SERIES_MILLIS = 1000, 100, 1000
"""Three durations in milliseconds for the library watchfiles.

The first is the length of one wait for events. The second is the pause after which a series of
events is over. The third is the maximum time in which a series is collected.
"""

Say = Callable[[str, str], None]
"""A callback that gets a sentence for the user, and a hint or ""."""
Print = tuple[int, ...]
"""The fingerprint of a file; () if there is no file."""


def folders() -> dict[str, str]:
    """Return the paths of the folders to watch, each with its source name, such as "claude".

    Only existing folders are returned. A folder inside another watched folder is left out.
    """
    found: dict[str, str] = {}
    for path, name in _all_folders():
        real = os.path.realpath(path)
        if os.path.isdir(real):
            found.setdefault(real, name)
    parents = tuple(f"{path}/" for path in found)
    return {path: name for path, name in found.items() if not path.startswith(parents)}


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
    """Return the paths of the single files to check, each with its source name, such as "claude".

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
    """A watcher that notices changes in conversations, from the moment when it is created.

    `say` is called with a sentence and a hint for the user if the system cannot report changes, or
    if new folders cannot be found.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self.polls: bool = False
        """True if everything is checked regularly, because the system does not report changes."""
        self._folders: dict[str, tuple[str, Print]] = {}
        self._events: Generator[set[Any]] | None = None
        self._some_unreadable = False
        """True if this user has no permission to read some of the folders."""
        self._startup_changes: set[str] = set()
        self._fingerprints = _fingerprints()
        self._last_full_check = time.monotonic()
        self._last_error = ""
        self._start_watching(_current_folders())

    @property
    def watched(self) -> list[str]:
        """The paths of the watched folders."""
        return list(self._folders)

    def wait(self, until: float) -> set[str]:
        """Wait for changes, and return the names of the changed sources.

        Return an empty set if nothing changed before `until`, a time of the monotonic clock.
        """
        while True:
            changed = self._startup_changes | self._wait_for_reports() | self._check_files()
            self._startup_changes = set()
            now = time.monotonic()
            if now >= self._last_full_check + (EVERY if self.polls else _FULL_CHECK_SECONDS):
                changed |= EVERYTHING
            if changed >= EVERYTHING:
                self._last_full_check = now
            if changed or now >= until:
                return changed

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    def _start_watching(self, folders: dict[str, tuple[str, Print]]) -> None:
        """Start to watch these folders. Each path has a source name and a fingerprint."""
        self.close()
        self._folders, self._folders_checked = folders, time.monotonic()
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
            debounce=_MAX_SERIES_MILLIS,
            step=_QUIET_MILLIS,
            rust_timeout=_WAIT_MILLIS,
            yield_on_timeout=True,
            ignore_permission_denied=self._some_unreadable,
        )
        # watchfiles starts to watch at the first `next`.
        self._startup_changes |= self._wait_for_reports()

    def _wait_for_reports(self) -> set[str]:
        """Wait about a second for changes that the system reports.

        Return the names of the changed sources.
        """
        if self._events is None:
            time.sleep(_WAIT_MILLIS / 1000)
            return set()
        try:
            changes = next(self._events)
        except FileNotFoundError:
            self._events, self._folders_checked = None, 0.0  # one of the folders was just removed
            return set()
        except PermissionError:
            # Ignore unreadable folders only from now on. The option for this also hides the error
            # about limits, so it is not set earlier.
            self._events, self._some_unreadable, self._folders_checked = None, True, 0.0
            return set()
        except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError in its thread
            self._poll(_reason(error), "if a limit is reached, raise fs.inotify.max_user_watches")
            return set(EVERYTHING)
        if any(path in self._folders for _, path in changes):
            # A watched folder was removed. A new folder with this path may have the same inode.
            self.close()
            self._folders_checked = 0.0
        return {name for _, path in changes if (name := self._source_name(path))}

    def _poll(self, why: str, hint: str) -> None:
        self.close()
        self.polls = True
        self._say(
            f"changes are not reported, so checking every {EVERY:g} seconds: {why}",
            hint,
        )

    def _check_files(self) -> set[str]:
        """Check the watched files, and return the names of the sources that changed.

        Every few seconds, also check whether folders were added or removed. If so, return the names
        of all sources, because earlier changes in new folders were not reported.
        """
        fingerprints = _fingerprints()
        changed = {
            name for path, (name, now) in fingerprints.items() if self._old_fingerprint(path) != now
        }
        self._fingerprints = fingerprints
        if (
            "workspaces" not in changed
            and time.monotonic() < self._folders_checked + _FOLDERS_SECONDS
        ):
            return changed
        self._folders_checked = time.monotonic()
        folders = self._safely(_current_folders)
        is_watching = self._events or self.polls or not self._folders
        if folders is None or (folders == self._folders and is_watching):
            return changed
        self._start_watching(folders)
        return set(EVERYTHING)

    def _safely(self, work: Callable[[], T]) -> T | None:
        """Call `work` and return its result. After an error, tell the user and return None.

        The user is told only once about the same error.
        """
        try:
            found = work()
        except (OSError, CortextError) as error:
            if str(error) != self._last_error:
                self._say(f"could not check for new folders: {file_and_reason(error)}", "")
            self._last_error = str(error)
            return None
        self._last_error = ""
        return found

    def _old_fingerprint(self, path: str) -> Print:
        return self._fingerprints.get(path, ("", ()))[1]

    def _source_name(self, path: str) -> str:
        """Return the name of the source that a changed file belongs to, such as "claude".

        Return "" for internal files of cortext.
        """
        if "/.cortext/" in path or path.endswith(".lock"):
            return ""
        for folder, (name, _) in self._folders.items():
            if f"{path}/".startswith(f"{folder}/"):
                return name
        return ""


def _current_folders() -> dict[str, tuple[str, Print]]:
    """Return the folders to watch, each with its source name and a fingerprint.

    The fingerprint is the device and the inode. It shows whether another folder with the same path
    replaced the folder.
    """
    return {path: (name, fingerprint_file(path)[:2]) for path, name in folders().items()}


def _fingerprints() -> dict[str, tuple[str, Print]]:
    return {path: (name, fingerprint_file(path)) for path, name in files().items()}


def _reason(error: BaseException) -> str:
    """Return the message of a system error without its technical details."""
    return str(error).partition(" (")[0].partition(". about")[0].lower()
