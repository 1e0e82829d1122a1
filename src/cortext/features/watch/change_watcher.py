"""What `cortext watch` follows, and how it notices that something changed there.

Folders are watched as a whole where the system tells of changes; a few single files, and which
folders there are, are looked at every second. Where the system cannot tell, everything counts as
changed now and then.
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
"""What can change, by name."""
EVERY = 5.0
"""Seconds between two looks where the system does not tell of changes."""
_SWEEP = 600.0
"""Seconds after which all is looked at in any case: a change may not have been told."""
_FOLDERS_EVERY = 3.0
"""Seconds between two looks at which folders there are."""
_TICK, _STEP, _GROUP = 1000, 100, 1000
"""Milliseconds: between looks at single files, of quiet that end a burst, and its longest."""

Say = Callable[[str, str], None]
"""Called with a sentence for the person, and what can be done about it."""
Print = tuple[int, ...]


def folders() -> dict[str, str]:
    """The folders to watch that are there, each by the name of what it has; not one below
    another."""
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
    """Return the single files to look at, whether they are there or not. Databases are among
    them: their folder has much else in it, and what is new is written beside them first."""
    found = {paths.known_workspaces(): "workspaces"}
    for tool in tools():
        found |= {os.path.join(tool.home, name): tool.name for name in tool.companions}
        for path in databases(tool, tool.home):
            found |= {path: tool.name, f"{path}-wal": tool.name}
    return found


def fingerprint_file(path: str) -> Print:
    """What is different when a file is another or was written to; () if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Watcher:
    """Notices what changes from now on. `say` is told if that has to be done in another way."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.polls: bool = False
        """Whether the system does not tell of changes."""
        self._folders: dict[str, tuple[str, Print]] = {}
        self._events: Generator[set[Any]] | None = None
        self._some_closed = False
        """Whether there are folders that may not be looked into."""
        self._early: set[str] = set()
        self._prints = _prints()
        self._swept = time.monotonic()
        self._trouble = ""
        self._begin(_there())

    @property
    def watched(self) -> list[str]:
        """The folders."""
        return list(self._folders)

    def wait(self, until: float) -> set[str]:
        """The names of what changed, as soon as something did; none when `until` comes first, a
        time of the monotonic clock."""
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
        """Watch these folders."""
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
        # It begins when it is asked for the first time.
        self._early |= self._told()

    def _told(self) -> set[str]:
        """What the system told of, within about a second."""
        if self._events is None:
            time.sleep(_TICK / 1000)
            return set()
        try:
            changes = next(self._events)
        except FileNotFoundError:
            self._events, self._looked = None, 0.0  # one of the folders went away just now
            return set()
        except PermissionError:
            # Not from the beginning: then it is silent about the system's limit too.
            self._events, self._some_closed, self._looked = None, True, 0.0
            return set()
        except (OSError, RuntimeError) as error:  # the latter from its own thread
            self._poll(_reason(error), "a higher fs.inotify.max_user_watches lets it be told")
            return set(EVERYTHING)
        if any(path in self._folders for _, path in changes):
            # It was removed: what comes in its place may even have the same number.
            self.close()
            self._looked = 0.0
        return {name for _, path in changes if (name := self._name(path))}

    def _poll(self, why: str, hint: str) -> None:
        self.close()
        self.polls = True
        self._say(f"changes are looked for every {EVERY:g} seconds: {why}", hint)

    def _seen(self) -> set[str]:
        """What a look at single files shows; everything if other folders are there than before,
        for what happened meanwhile was not told."""
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
        """None, and it is said once, while a file of settings cannot be read or the like."""
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
        """What a changed file belongs to; "" for what is only ours."""
        if "/.cortext/" in path or path.endswith(".lock"):
            return ""
        return next((n for f, (n, _) in self._folders.items() if path.startswith(f)), "")


def _there() -> dict[str, tuple[str, Print]]:
    """The folders, and which ones they are: another may have come in the place of one."""
    return {path: (name, fingerprint_file(path)[:2]) for path, name in folders().items()}


def _prints() -> dict[str, tuple[str, Print]]:
    return {path: (name, fingerprint_file(path)) for path, name in files().items()}


def _reason(error: BaseException) -> str:
    """Without what it adds for those who know its parts."""
    return str(error).partition(" (")[0].partition(". about")[0].lower()
