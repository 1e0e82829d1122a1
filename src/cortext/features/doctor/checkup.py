"""Run every check of `cortext doctor`, and read only the files that changed since the last run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec import DecodeError
from msgspec.json import decode, encode

from cortext import paths
from cortext.config import user_file
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import make_private_dir, replace
from cortext.features.archive.archive_copies import temp_dir
from cortext.features.doctor import check_leftovers, check_machine
from cortext.features.doctor.check_archive import list_copies
from cortext.features.doctor.check_databases import check_database, list_databases
from cortext.features.doctor.check_locks import check_locks, list_lock_files
from cortext.features.doctor.check_state_files import (
    check_archive_notes,
    check_archive_redactions,
    check_exports,
    check_own_files,
    check_unfinished_redact,
)
from cortext.features.doctor.inventory import (
    CheckItem,
    Stores,
    find_stores,
    list_adapter_items,
    list_conversation_items,
    list_day_folders,
    list_transcript_items,
)
from cortext.features.doctor.problem import (
    CheckResult,
    Problem,
    Repair,
    is_absent,
    report_unforeseen,
)
from cortext.features.setup.install_manifest import SetupRecord
from cortext.stores.fingerprints import Fingerprint
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import folders, own_home

_log = logging.getLogger("cortext.health")
_TRIES = 2
_MOMENT = 0.05
_SETTLED_NS = 3600 * 1_000_000_000
"""Nanoseconds after which an unchanged file counts as settled.

A file that is not settled is read again in the next run, because the result of a tool call counts
as missing only after an hour.
"""
_CLOSED = "look what is there, who owns it and its permissions"
Progress = Callable[[int, int], None]
"""A callback that gets the number of bytes checked so far and the total number of bytes."""
Fingerprints = list[tuple[int, int, int]]


class SoundFiles:
    """The list of files in which earlier runs of `cortext doctor` found no problem.

    A listed file is read again only after it changed. The list is stored in a file that can be
    deleted; then the next run reads everything. With `deep`, the stored list is ignored.
    """

    def __init__(self, *, deep: bool = False) -> None:
        self._now: dict[str, Fingerprints] = {}
        self._before: dict[str, Fingerprints] = {}
        if not deep:
            try:
                self._before = decode(read_file(paths.checked()), type=dict[str, Fingerprints])
            except (OSError, DecodeError, UnicodeDecodeError):
                self._before = {}  # Without a readable list, every file is read.

    def has(self, item: CheckItem) -> bool:
        """Return whether an item's files are unchanged since a run found no problem in them."""
        known = self._before.get(item.name)
        if known is None or known != fingerprints_of(item.files):
            return False
        self._now[item.name] = known
        return True

    def add(self, item: CheckItem, before: Fingerprints) -> None:
        """Record that the files of an item have no problem.

        `before` are their fingerprints before the check. Record nothing if the files changed since
        then or within the last hour.
        """
        if before and before == fingerprints_of(item.files) and _settled(before):
            self._now[item.name] = before

    def save(self) -> None:
        """Write the list of sound files. If that fails, raise OSError and leave the old list."""
        if self._now != self._before:
            path = paths.checked()
            make_private_dir(os.path.dirname(path))
            replace(path, [encode(self._now)])


def fingerprints_of(files: Sequence[str]) -> Fingerprints:
    """Return inode, size and modification time of each file; an empty list if a file is missing."""
    found = [Fingerprint.at(path) for path in files]
    return [(one.inode, one.size, one.mtime_ns) for one in found if one] if all(found) else []


def _settled(fingerprints: Fingerprints) -> bool:
    return all(time.time_ns() - mtime > _SETTLED_NS for _, _, mtime in fingerprints)


class Check(NamedTuple):
    """One check: the path that it is about, and the function that runs it."""

    place: str
    run: Callable[[], Iterable[CheckResult]]

    def results(self) -> list[CheckResult]:
        """Run the check and return its results.

        An exception in the check is reported as one more problem, so the other checks still run.
        """
        found: list[CheckResult] = []
        try:
            found.extend(self.run())
        except Exception as error:  # noqa: BLE001  an unforeseen file must not hide the others
            _log.info("%s could not be looked at", self.place, exc_info=True)
            found.append(report_unforeseen(self.place, error))
        return found


class Checkup:
    """All checks of `cortext doctor`, and their results.

    `conversations` is the number of conversations. `read` is the number of conversations that this
    run read; the others are unchanged since an earlier run found no problem in them.
    """

    def __init__(self, conversations: int) -> None:
        self.conversations = conversations
        self.read = 0
        self._checks: list[Check] = []
        self._results: list[list[CheckResult]] = []

    @property
    def problems(self) -> list[Problem]:
        return [p for found in chain.from_iterable(self._results) for p in found.problems]

    @property
    def mends(self) -> list[Repair]:
        found = chain.from_iterable(self._results)
        return [one.mend for one in found if one.mend is not None]

    def run(self, place: str, check: Callable[[], Iterable[CheckResult]]) -> None:
        """Run a check of the path `place` and store its results."""
        self.add(Check(place, check))

    def add(self, check: Check, results: list[CheckResult] | None = None) -> None:
        """Store a check with its results. Without results, run the check first."""
        self._checks.append(check)
        self._results.append(check.results() if results is None else results)

    def recheck(self) -> None:
        """Repeat the checks that found something to repair, and replace their results."""
        for number, results in enumerate(self._results):
            if any(found.mend is not None for found in results):
                self._results[number] = self._checks[number].results()


def run_checkup(*, deep: bool = False, progress: Progress | None = None) -> Checkup:
    """Run every check of `cortext doctor` and return the results.

    With `deep`, also read files that are unchanged since a run found no problem in them.
    """
    found = find_stores()
    all_items = list(list_conversation_items(found))
    checkup = Checkup(len(all_items))
    data = os.path.dirname(paths.archive())
    # Check the redactions first: a repair that copies a transcript again needs them.
    if not is_absent(paths.archive()):
        checkup.run(paths.archive(), lambda: [check_archive_redactions(list_copies())])
        checkup.run(data, check_archive_notes)
    checkup.run(data, check_own_files)
    checkup.run(data, lambda: [check_unfinished_redact()])
    inner = list(list_adapter_items(found))
    others = [*list_transcript_items(found), *inner]
    _check_items(checkup, all_items, others, SoundFiles(deep=deep), progress)
    closed = [
        CheckResult([Problem(f"{folder} cannot be looked into: {why}", _CLOSED, path=folder)])
        for folder, why in found.failures.items()
    ]
    checkup.run(data, lambda: closed)
    for path in list_databases(found.shelves):
        checkup.run(path, lambda path=path: [check_database(path, deep=deep)])
    checkup.run(paths.document_dir(), lambda: check_exports(found.documents))
    _check_surroundings(checkup, found, [*all_items, *inner])
    return checkup


def _check_surroundings(checkup: Checkup, found: Stores, all_items: list[CheckItem]) -> None:
    """Check locks, temp files, permissions, the trash, and the machine."""
    data = os.path.dirname(paths.archive())
    shelves = found.shelves

    def modes() -> Iterable[CheckResult]:
        for what, there in _open_to_others(found, all_items).items():
            yield check_leftovers.check_modes(what, sorted(there))

    locks = [*list_lock_files(shelves), *_own_locks()]
    disks = [*shelves, paths.archive(), paths.words()]
    checkup.run(data, lambda: [CheckResult(check_locks(locks))])
    checkup.run(data, lambda: [check_leftovers.check_temp_files(_abandoned(found))])
    checkup.run(data, modes)
    if not is_absent(paths.trash()):
        checkup.run(paths.trash(), lambda: [CheckResult(check_leftovers.check_trash())])
    checkup.run("PATH", lambda: [CheckResult(check_machine.check_program_names())])
    checkup.run(data, lambda: [CheckResult(check_machine.check_writable(paths.archive()))])
    checkup.run(data, lambda: [CheckResult(check_machine.check_network_disks(disks))])


def _check_items(
    checkup: Checkup,
    conversations: list[CheckItem],
    others: list[CheckItem],
    sound: SoundFiles,
    progress: Progress | None,
) -> None:
    """Check the conversations and transcripts that changed, and update the list of sound files."""
    new = [item for item in conversations if not sound.has(item)]
    checkup.read = len(new)
    new += [item for item in others if not sound.has(item)]
    sizes = [_size(item.files) for item in new]
    done, total = 0, sum(sizes)
    checks = [Check(item.files[0], lambda item=item: [item.check()]) for item in new]
    all_results: list[list[CheckResult]] = []
    for item, check, size in zip(new, checks, sizes, strict=True):
        before = fingerprints_of(item.files)
        results = check.results()
        if not any(found.problems for found in results):
            sound.add(item, before)
        all_results.append(results)
        done += size
        if progress:
            progress(done, total)
    _check_again(new, checks, all_results)
    for check, results in zip(checks, all_results, strict=True):
        checkup.add(check, results)
    try:
        sound.save()
    except OSError as error:
        _log.info("the list of sound files could not be written: %s", error)


def _check_again(
    new: list[CheckItem], checks: list[Check], results: list[list[CheckResult]]
) -> None:
    """Repeat checks that found a problem in a file written within the last two seconds.

    The damage may be a write in progress.
    """
    for _ in range(_TRIES):
        fresh = [
            number
            for number, item in enumerate(new)
            if any(found.problems for found in results[number]) and _is_fresh(item.files)
        ]
        if not fresh:
            return
        time.sleep(_MOMENT)
        for number in fresh:
            results[number] = checks[number].results()


def _own_locks() -> list[str]:
    """Return the paths of the lock files that belong to no session."""
    lists = [
        f"{path}.lock"
        for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents())
    ]
    setup = f"{paths.setup_record()}.lock"
    return [os.path.join(paths.archive(), ".lock"), *lists, setup, paths.watch_mark()]


def _is_fresh(files: Iterable[str]) -> bool:
    now = time.time_ns()
    return any(0 <= now - mtime < 2e9 for path in files for _, _, mtime in fingerprints_of([path]))


def _size(files: Iterable[str]) -> int:
    return sum(size for path in files for _, size, _ in fingerprints_of([path]))


def _abandoned(found: Stores) -> list[str]:
    """Return temp files that killed processes left, also in the folders of the AI tools."""
    try:
        others = [] if is_absent(paths.setup_record()) else SetupRecord.load().half_written()
    except OSError:
        others = []  # `check_own_files` reports a record that cannot be read.
    return check_leftovers.find_temp_files(_temp_folders(found), others)


def _temp_folders(found: Stores) -> list[str]:
    """Return the folders in which cortext writes temp files before it renames them."""
    data = os.path.dirname(paths.archive())
    ours = [data, os.path.dirname(paths.words()), paths.archive(), paths.running()]
    ours.append(os.path.dirname(user_file()))
    ours += [os.path.join(paths.running(), "captured"), os.path.join(paths.archive(), ".known")]
    ours += [] if is_absent(paths.archive()) else [temp_dir()]
    for shelf in found.shelves:
        ours += [shelf, f"{shelf}/.cortext", f"{shelf}/.cortext/locks"]
    # A move between disks writes its temp file in the target folder.
    ours += list_day_folders(found)
    # A session that is written for a tool gets its temp file in the tool's folder.
    ours += [folder for tool in tool_names() for folder in folders(tool, own_home(tool))]
    return list(dict.fromkeys(ours))


def _open_to_others(found: Stores, all_items: Iterable[CheckItem]) -> dict[str, set[str]]:
    """Return the paths that other users may read or change.

    The keys are "conversations" and "keys", the kinds of contents.
    """
    data = os.path.dirname(paths.archive())
    spoken = set(
        check_leftovers.filter_readable_by_others(
            path for item in all_items for path in item.private
        )
    )
    spoken.update(
        check_leftovers.filter_readable_by_others(
            [*found.logs, data, os.path.dirname(paths.words())]
        )
    )
    spoken.update(check_leftovers.filter_readable_by_others([paths.words(), paths.catalog()]))
    spoken.update(check_leftovers.find_readable_by_others([paths.archive()]))
    keys = set(check_leftovers.find_readable_by_others([paths.service_tokens()]))
    keys.update(check_leftovers.filter_readable_by_others([paths.redaction_key()]))
    return {"conversations": spoken, "keys": keys}
