"""Which conversations of a workspace changed since they were last looked at.

A `stat` for each conversation, and no more, is what a list costs; hence the plain loop, and
days that are compared whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cortext.errors import SessionStorageError, reason_of
from cortext.stores import workspace_layout

_LINES = ".session/messages.jsonl"
FRESH_NS = 20_000_000
"""A file this young may be written again without a new time."""


class Day(NamedTuple):
    """A day that is not as it was: `folder` is below the workspace, `time` its folder's, and
    `entries` are what tells whether each of its conversations changed, by name."""

    folder: str
    time: int
    entries: dict[str, str]


class Known(NamedTuple):
    """What is known of a day: the time of its folder, and its entries, a line each."""

    time: int
    print: str

    @classmethod
    def read(cls, text: str) -> Known:
        time, _, print = text.partition("\n")
        return cls(int(time), print)

    def names(self) -> list[str]:
        return [entry.partition("\t")[0] for entry in self.print.split("\n") if entry]

    def entries(self) -> dict[str, str]:
        return dict(zip(self.names(), self.print.split("\n"), strict=False))


_UNKNOWN = Known(0, "")


class Scan:
    """Compares what is there with what is known of each day.

    Lines come to conversations that are going on, so only of those are the lines looked at;
    another is resumed first, and then its head is a new one.
    """

    def __init__(
        self, root: str, known: Mapping[str, Known], going_on: Mapping[str, Collection[str]]
    ) -> None:
        self._root = root
        self._known = known
        self._going_on = going_on
        self.began: int = time.time_ns()
        self.unread: list[str] = []
        """What could not be read, and why."""

    def changed(self) -> Iterator[Day]:
        """The days that differ; one that is gone has no entries."""
        gone = set(self._known)
        for shelf in workspace_layout.shelves(self._root):
            below = f"{shelf}/"[len(self._root) + 1 :]
            try:
                days = workspace_layout.days(shelf)
            except SessionStorageError as error:
                self._not_read(str(error).removeprefix("could not read "))
                gone = {folder for folder in gone if not folder.startswith(below)}
                continue
            for name in days:
                folder = below + name
                gone.discard(folder)
                day = self._look(folder)
                if day is not None:
                    yield day
        for folder in gone:
            yield Day(folder, 0, {})

    def _look(self, folder: str) -> Day | None:
        """The day, if it differs; one that cannot be read is named, and left as it was."""
        known = self._known.get(folder, _UNKNOWN)
        path = f"{self._root}/{folder}"
        try:
            now = os.stat(path).st_mtime_ns
            # The names of a folder whose time is the same are the same.
            same = now == known.time and now < self.began - FRESH_NS
            names = known.names() if same else [*filter(workspace_layout.is_name, os.listdir(path))]
        except FileNotFoundError:
            return Day(folder, 0, {})
        except OSError as error:
            self._not_read(f"{path}: {reason_of(error)}")
            return None
        failed: dict[str, OSError] = {}
        entries = _entries(path, names, self._going_on.get(folder, ()), failed)
        if failed:
            self._leave(path, entries, failed, known)
        unchanged = same and known.print == "\n".join(entries.values())
        if unchanged or not (entries or known.print):
            return None
        return Day(folder, now, entries)

    def _leave(
        self, path: str, entries: dict[str, str], failed: Mapping[str, OSError], known: Known
    ) -> None:
        """What cannot be looked at is named, and left as it was known."""
        before = known.entries()
        for name in failed:
            entries[name] = before.get(name, f"{name}\t\t")
        whole = len(failed) == len(entries)
        for name, error in [*failed.items()][: 1 if whole else None]:
            self._not_read(f"{path if whole else f'{path}/{name}'}: {reason_of(error)}")

    def _not_read(self, what: str) -> None:
        import logging

        self.unread.append(what)
        logging.getLogger("cortext.catalog").warning("could not read %s", what)


def is_nothing(entry: str) -> bool:
    """Whether an entry is that of a folder which is no conversation."""
    return entry.endswith("\t\t")


def with_lines(entry: str, root: str, path: str) -> str:
    """An entry as it is for a conversation that is going on."""
    return entry if entry.count("\t") == 2 else f"{entry}\t{_stat(f'{root}/{path}/{_LINES}')}"


def without_lines(entry: str) -> str:
    """An entry as it is for a conversation that rests."""
    return "\t".join(entry.split("\t")[:2])


def _entries(
    folder: str, names: Collection[str], going_on: Collection[str], failed: dict[str, OSError]
) -> dict[str, str]:
    """What tells of each whether it changed; `failed` gets those that nobody lets us look at."""
    stat = os.stat
    entries: dict[str, str] = {}
    for name in names:
        try:
            found = stat(f"{folder}/{name}/.session/session.json")
        except PermissionError as error:
            entries[name], failed[name] = "", error
            continue
        except OSError:
            entries[name] = _without_head(folder, name)
            continue
        entry = f"{name}\t{found.st_ino} {found.st_size} {found.st_mtime_ns}"
        if name in going_on:
            entry = f"{entry}\t{_stat(f'{folder}/{name}/{_LINES}')}"
        entries[name] = entry
    return entries


def _without_head(folder: str, name: str) -> str:
    """A folder that has lost its head, or its session: it is a conversation while it has lines
    or a markdown. Another has an entry too: it may become one."""
    document = workspace_layout.document_in(f"{folder}/{name}")
    markdown = _stat(f"{folder}/{name}/{document}") if document else ""
    lines = _stat(f"{folder}/{name}/{_LINES}")
    return f"{name}\t{markdown and '-' + markdown}\t{lines}"


def _stat(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
