"""Find the conversations of a workspace that changed since the last refresh.

A workspace has one folder for each day, which contains the conversations of that day. A scan calls
`stat` once for each conversation. A day folder is unchanged if its modification time and the
fingerprints of all its conversations are the same.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec

from cortext.catalog.row_table import FRESH_NS
from cortext.errors import SessionStorageError, reason_of
from cortext.stores import workspace_layout
from cortext.stores.file_fingerprint import Fingerprint

_HEAD = ".session/session.json"
_LINES = ".session/messages.jsonl"
_log = logging.getLogger("cortext.catalog")


class ChangedDay(msgspec.Struct, frozen=True):
    """The state of the folder of one day, either as found on disk or as stored in the catalog.

    `folder` is the path relative to the workspace, and `time` is the modification time in
    nanoseconds. `fingerprints` has the fingerprint of each conversation, by name. It is empty if
    the folder was deleted.
    """

    folder: str
    time: int
    fingerprints: dict[str, str]


class ConversationFiles(NamedTuple):
    """The fingerprints of a conversation's files. The fingerprint of a missing file is None.

    - `head`: the fingerprint of `session.json`
    - `markdown`: the fingerprint of the markdown file; always None if there is a `session.json`
    - `lines`: the fingerprint of the message file
    """

    head: Fingerprint | None
    markdown: Fingerprint | None
    lines: Fingerprint | None

    @property
    def is_conversation(self) -> bool:
        """Whether any of the files exists."""
        return any(self)

    @property
    def latest(self) -> int:
        """The latest modification time of the files, in nanoseconds."""
        return max((each.mtime_ns for each in self if each), default=0)

    def fingerprint(self, *, with_lines: bool) -> str:
        """Return a text that changes when the files of the conversation change.

        With `with_lines`, or if there is no `session.json`, the text depends on the message file
        too. An idle conversation gets no messages, so `with_lines` can be false, which saves a
        `stat` call.
        """
        if self.head is None:
            return f"-{self.markdown or ''}\t{self.lines or ''}"
        return f"{self.head}\t{self.lines or ''}" if with_lines else str(self.head)


class Scan:
    """A comparison of the conversations on disk with the conversations in the catalog.

    `known` has the day folders in the catalog, by path. `active` has the names of the conversations
    that may have new messages, by the path of their day folder.
    """

    def __init__(
        self, root: str, known: Mapping[str, ChangedDay], active: Mapping[str, Collection[str]]
    ) -> None:
        self._root = root
        self._known = known
        self._active = active
        self.began: int = time.time_ns()
        self.unread: list[str] = []
        """The paths that could not be read, each with the reason."""

    def changed(self) -> Iterator[ChangedDay]:
        """Yield the state on disk of each day folder that differs from the catalog.

        For a deleted day folder, the state has no fingerprints.
        """
        gone = set(self._known)
        for shelf in workspace_layout.shelves(self._root):
            prefix = f"{shelf}/"[len(self._root) + 1 :]
            try:
                days = workspace_layout.days(shelf)
            except SessionStorageError as error:
                self._report_unread(str(error).removeprefix("could not read "))
                gone = {folder for folder in gone if not folder.startswith(prefix)}
                continue
            for name in days:
                folder = prefix + name
                gone.discard(folder)
                day = self._compare(folder)
                if day is not None:
                    yield day
        for folder in gone:
            yield ChangedDay(folder, 0, {})

    def _compare(self, folder: str) -> ChangedDay | None:
        """Return the state of a day folder on disk; None if it is unchanged or cannot be read."""
        known = self._known.get(folder) or ChangedDay(folder, 0, {})
        path = f"{self._root}/{folder}"
        try:
            modified_at = os.stat(path).st_mtime_ns
            # The modification time of a folder changes when a name is added or removed.
            is_same_folder = modified_at == known.time and modified_at < self.began - FRESH_NS
            names = (
                [*known.fingerprints]
                if is_same_folder
                else [*filter(workspace_layout.is_name, os.listdir(path))]
            )
        except FileNotFoundError:
            return ChangedDay(folder, 0, {})
        except OSError as error:
            self._report_unread(f"{path}: {reason_of(error)}")
            return None
        failed: dict[str, OSError] = {}
        found = _fingerprints(path, names, self._active.get(folder, ()), failed)
        if failed:
            self._keep_failed(path, found, failed, known)
        unchanged = is_same_folder and known.fingerprints == found
        if unchanged or not (found or known.fingerprints):
            return None
        return ChangedDay(folder, modified_at, found)

    def _keep_failed(
        self, path: str, found: dict[str, str], failed: Mapping[str, OSError], known: ChangedDay
    ) -> None:
        """Report the conversations of a day folder that could not be read.

        Their fingerprints are copied from `known` to `found`, so that these conversations count as
        unchanged. `failed` has the error for each conversation, by name. `path` is the path of the
        day folder.
        """
        for name in failed:
            found[name] = known.fingerprints.get(name, NO_CONVERSATION)
        all_failed = len(failed) == len(found)
        for name, error in [*failed.items()][: 1 if all_failed else None]:
            self._report_unread(f"{path if all_failed else f'{path}/{name}'}: {reason_of(error)}")

    def _report_unread(self, problem: str) -> None:
        self.unread.append(problem)
        _log.warning("could not read %s", problem)


NO_CONVERSATION = ConversationFiles(None, None, None).fingerprint(with_lines=True)
"""The fingerprint of a folder that has none of a conversation's files."""


def stat_files(folder: str) -> ConversationFiles:
    """Return the current fingerprints of the files in a conversation's folder."""
    head = _stat(f"{folder}/{_HEAD}")
    markdown = None
    if head is None and (document := workspace_layout.document_in(folder)):
        markdown = _stat(f"{folder}/{document}")
    return ConversationFiles(head, markdown, _stat(f"{folder}/{_LINES}"))


def _fingerprints(
    folder: str, names: Collection[str], active: Collection[str], failed: dict[str, OSError]
) -> dict[str, str]:
    """Return the fingerprint of each conversation in a day folder, by name.

    `active` has the names of the conversations whose message files are checked too. Conversations
    that cannot be read are added to `failed`, with the error.
    """
    stat = os.stat
    fingerprints: dict[str, str] = {}
    # A plain loop, because a refresh of many conversations spends most of its time in it.
    for name in names:
        try:
            status = stat(f"{folder}/{name}/{_HEAD}")
        except PermissionError as error:
            fingerprints[name], failed[name] = "", error
            continue
        except OSError:
            fingerprints[name] = stat_files(f"{folder}/{name}").fingerprint(with_lines=True)
            continue
        fingerprint = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
        if name in active:
            fingerprint = f"{fingerprint}\t{_stat(f'{folder}/{name}/{_LINES}') or ''}"
        fingerprints[name] = fingerprint
    return fingerprints


def _stat(path: str) -> Fingerprint | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Fingerprint.of(status)
