"""Which conversations of a workspace changed since the last refresh.

A refresh costs one `stat` for each conversation. A day whose folder and fingerprints are the same
is unchanged as a whole.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cortext.catalog.row_table import FRESH_NS
from cortext.errors import SessionStorageError, reason_of
from cortext.stores import workspace_layout
from cortext.stores.fingerprints import Fingerprint

_HEAD = ".session/session.json"
_LINES = ".session/messages.jsonl"
_log = logging.getLogger("cortext.catalog")


class ChangedDay(NamedTuple):
    """A folder of conversations: its path below the workspace, its time, and the fingerprints of
    its conversations by their names. A day that is gone has none."""

    folder: str
    time: int
    fingerprints: dict[str, str]


class ConversationFiles(NamedTuple):
    """What a `stat` says of the files of a conversation. Where there is no head, the markdown
    stands for it."""

    head: Fingerprint | None
    markdown: Fingerprint | None
    lines: Fingerprint | None

    @property
    def is_conversation(self) -> bool:
        return any(self)

    @property
    def latest(self) -> int:
        """The time of the youngest file."""
        return max((each.mtime_ns for each in self if each), default=0)

    def fingerprint(self, *, with_lines: bool) -> str:
        """Return the text that changes when a file does. Lines are added only to conversations
        that are active, so the fingerprint of others does not include them."""
        if self.head is None:
            return f"-{self.markdown or ''}\t{self.lines or ''}"
        return f"{self.head}\t{self.lines or ''}" if with_lines else str(self.head)


class Scan:
    """Compares the conversations of a workspace with what is known of each day.

    `active` has the names of the conversations of a day that lines may have been added to.
    """

    def __init__(
        self, root: str, known: Mapping[str, ChangedDay], active: Mapping[str, Collection[str]]
    ) -> None:
        self._root = root
        self._known = known
        self._active = active
        self.began: int = time.time_ns()
        self.unread: list[str] = []
        """What could not be read, and why."""

    def changed(self) -> Iterator[ChangedDay]:
        """Yield the days that differ."""
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
                day = self._compare(folder)
                if day is not None:
                    yield day
        for folder in gone:
            yield ChangedDay(folder, 0, {})

    def _compare(self, folder: str) -> ChangedDay | None:
        """Return the day if it differs. A day that cannot be read stays as it was."""
        known = self._known.get(folder) or ChangedDay(folder, 0, {})
        path = f"{self._root}/{folder}"
        try:
            now = os.stat(path).st_mtime_ns
            # A folder with the same time has the same names.
            same = now == known.time and now < self.began - FRESH_NS
            names = (
                [*known.fingerprints]
                if same
                else [*filter(workspace_layout.is_name, os.listdir(path))]
            )
        except FileNotFoundError:
            return ChangedDay(folder, 0, {})
        except OSError as error:
            self._not_read(f"{path}: {reason_of(error)}")
            return None
        failed: dict[str, OSError] = {}
        found = _fingerprints(path, names, self._active.get(folder, ()), failed)
        if failed:
            self._keep_failed(path, found, failed, known)
        unchanged = same and known.fingerprints == found
        if unchanged or not (found or known.fingerprints):
            return None
        return ChangedDay(folder, now, found)

    def _keep_failed(
        self, path: str, found: dict[str, str], failed: Mapping[str, OSError], known: ChangedDay
    ) -> None:
        """Report conversations that cannot be read, and keep them as they were."""
        for name in failed:
            found[name] = known.fingerprints.get(name, NO_CONVERSATION)
        whole = len(failed) == len(found)
        for name, error in [*failed.items()][: 1 if whole else None]:
            self._not_read(f"{path if whole else f'{path}/{name}'}: {reason_of(error)}")

    def _not_read(self, what: str) -> None:
        self.unread.append(what)
        _log.warning("could not read %s", what)


NO_CONVERSATION = ConversationFiles(None, None, None).fingerprint(with_lines=True)
"""The fingerprint of a folder that is not a conversation, or not yet."""


def stat_files(folder: str) -> ConversationFiles:
    """Return what the files of a conversation look like now."""
    head = _stat(f"{folder}/{_HEAD}")
    markdown = None
    if head is None and (document := workspace_layout.document_in(folder)):
        markdown = _stat(f"{folder}/{document}")
    return ConversationFiles(head, markdown, _stat(f"{folder}/{_LINES}"))


def _fingerprints(
    folder: str, names: Collection[str], active: Collection[str], failed: dict[str, OSError]
) -> dict[str, str]:
    """Return the fingerprints of conversations; `failed` gets those that may not be read."""
    stat = os.stat
    fingerprints: dict[str, str] = {}
    # A plain loop: in a long list this takes most of the time.
    for name in names:
        try:
            found = stat(f"{folder}/{name}/{_HEAD}")
        except PermissionError as error:
            fingerprints[name], failed[name] = "", error
            continue
        except OSError:
            fingerprints[name] = stat_files(f"{folder}/{name}").fingerprint(with_lines=True)
            continue
        fingerprint = f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
        if name in active:
            fingerprint = f"{fingerprint}\t{_stat(f'{folder}/{name}/{_LINES}') or ''}"
        fingerprints[name] = fingerprint
    return fingerprints


def _stat(path: str) -> Fingerprint | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Fingerprint.of(found)
