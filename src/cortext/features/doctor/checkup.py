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
from cortext.durability.durable_files import make_private_dir, replace
from cortext.durability.read_files import read_file
from cortext.features.archive.archive_copy_states import temp_dir
from cortext.features.doctor import check_programs_and_disks, check_temp_files_and_modes
from cortext.features.doctor.check_archive import list_copies
from cortext.features.doctor.check_held_locks import check_locks, list_lock_files
from cortext.features.doctor.check_results import (
    CheckResult,
    Problem,
    Repair,
    is_absent,
    report_unforeseen,
)
from cortext.features.doctor.check_state_files import (
    check_archive_notes,
    check_archive_redactions,
    check_database,
    check_exports,
    check_own_files,
    check_unfinished_redact,
    list_databases,
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
from cortext.features.setup.setup_record import SetupRecord
from cortext.stores.file_fingerprint import Fingerprint
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import folders, own_home

_log = logging.getLogger("cortext.health")
_TRIES = 2
_RETRY_SECONDS = 0.05
_SETTLED_NS = 3600 * 1_000_000_000
"""Nanoseconds without a change after which a file counts as settled.

A file that is not settled is read again in the next run. The result of a tool call counts as
missing only after an hour, so an earlier run cannot report it.
"""
_UNREADABLE_HINT = "check what is at this path, its owner and its permissions"
Progress = Callable[[int, int], None]
"""A callback that gets the number of bytes checked so far and the total number of bytes."""
Fingerprints = list[tuple[int, int, int]]


class SoundFiles:
    """The list of files in which earlier runs of `cortext doctor` found no problem.

    A listed file is read again only after it changed. If the stored list is deleted, or if `deep`
    is true, every file is read.
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
        """Return whether an item had no problem in an earlier run, and its files are unchanged."""
        known = self._before.get(item.name)
        if known is None or known != fingerprints_of(item.files):
            return False
        self._now[item.name] = known
        return True

    def add(self, item: CheckItem, before: Fingerprints) -> None:
        """Record that a check found no problem in the files of an item.

        `before` are the fingerprints of these files before the check. Record nothing if a file
        changed during the check, or in the last hour.
        """
        if before and before == fingerprints_of(item.files) and _are_settled(before):
            self._now[item.name] = before

    def save(self) -> None:
        """Write the list of files without problems to disk.

        If that fails, raise OSError and keep the old list.
        """
        if self._now != self._before:
            path = paths.checked()
            make_private_dir(os.path.dirname(path))
            replace(path, [encode(self._now)])


def fingerprints_of(files: Sequence[str]) -> Fingerprints:
    """Return the inode, size and modification time of each file; [] if any file is missing."""
    found = [Fingerprint.at(path) for path in files]
    return [(one.inode, one.size, one.mtime_ns) for one in found if one] if all(found) else []


def _are_settled(fingerprints: Fingerprints) -> bool:
    return all(time.time_ns() - mtime > _SETTLED_NS for _, _, mtime in fingerprints)


class Check(NamedTuple):
    """One check. `place` is the path that is checked, and `run` is the function that checks it."""

    place: str
    run: Callable[[], Iterable[CheckResult]]

    def results(self) -> list[CheckResult]:
        """Run the check and return its results.

        If the check raises an exception, the results contain a problem that reports it.
        """
        found: list[CheckResult] = []
        try:
            found.extend(self.run())
        except Exception as error:  # noqa: BLE001  an unforeseen file must not hide the others
            _log.info("could not check %s", self.place, exc_info=True)
            found.append(report_unforeseen(self.place, error))
        return found


class Checkup:
    """All checks of `cortext doctor`, and their results.

    `conversations` is the number of all conversations. `read` is the number of conversations that
    this run read. The other conversations had no problem in an earlier run and are unchanged.
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
        """Store a check with its results. If `results` is None, run the check first."""
        self._checks.append(check)
        self._results.append(check.results() if results is None else results)

    def recheck(self) -> None:
        """Repeat the checks that found something to repair, and replace their results."""
        for number, results in enumerate(self._results):
            if any(found.mend is not None for found in results):
                self._results[number] = self._checks[number].results()


def run_checkup(*, deep: bool = False, progress: Progress | None = None) -> Checkup:
    """Run every check of `cortext doctor` and return the results.

    A file that passed an earlier check and did not change is skipped, unless `deep` is set.
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
    adapter_items = list(list_adapter_items(found))
    others = [*list_transcript_items(found), *adapter_items]
    _check_items(checkup, all_items, others, SoundFiles(deep=deep), progress)
    unreadable = [
        CheckResult([Problem(f"{folder} cannot be read: {why}", _UNREADABLE_HINT, path=folder)])
        for folder, why in found.failures.items()
    ]
    checkup.run(data, lambda: unreadable)
    for path in list_databases(found.shelves):
        checkup.run(path, lambda path=path: [check_database(path, deep=deep)])
    checkup.run(paths.document_dir(), lambda: check_exports(found.documents))
    _check_surroundings(checkup, found, [*all_items, *adapter_items])
    return checkup


def _check_surroundings(checkup: Checkup, found: Stores, all_items: list[CheckItem]) -> None:
    """Check locks, temp files, permissions, the trash, and the machine."""
    data = os.path.dirname(paths.archive())
    shelves = found.shelves

    def modes() -> Iterable[CheckResult]:
        for what, open_paths in _find_open_to_others(found, all_items).items():
            yield check_temp_files_and_modes.check_modes(what, sorted(open_paths))

    locks = [*list_lock_files(shelves), *_own_locks()]
    disks = [*shelves, paths.archive(), paths.words()]
    checkup.run(data, lambda: [CheckResult(check_locks(locks))])
    checkup.run(
        data, lambda: [check_temp_files_and_modes.check_temp_files(_find_abandoned_temps(found))]
    )
    checkup.run(data, modes)
    if not is_absent(paths.trash()):
        checkup.run(paths.trash(), lambda: [CheckResult(check_temp_files_and_modes.check_trash())])
    checkup.run("PATH", lambda: [CheckResult(check_programs_and_disks.check_program_names())])
    checkup.run(
        data, lambda: [CheckResult(check_programs_and_disks.check_writable(paths.archive()))]
    )
    checkup.run(data, lambda: [CheckResult(check_programs_and_disks.check_network_disks(disks))])


def _check_items(
    checkup: Checkup,
    conversations: list[CheckItem],
    others: list[CheckItem],
    sound: SoundFiles,
    progress: Progress | None,
) -> None:
    """Check the items that changed, store the results, and update the list of sound files.

    `others` are the items that are not conversations, such as transcripts. `sound` is the list of
    files in which earlier runs found no problem.
    """
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
    _repeat_fresh_checks(new, checks, all_results)
    for check, results in zip(checks, all_results, strict=True):
        checkup.add(check, results)
    try:
        sound.save()
    except OSError as error:
        _log.info("could not write the list of sound files: %s", error)


def _repeat_fresh_checks(
    new: list[CheckItem], checks: list[Check], results: list[list[CheckResult]]
) -> None:
    """Repeat the checks that found a problem in a file written within the last two seconds.

    Another process may still be writing such a file. Replace the entries in `results`.
    """
    for _ in range(_TRIES):
        fresh = [
            number
            for number, item in enumerate(new)
            if any(found.problems for found in results[number]) and _is_fresh(item.files)
        ]
        if not fresh:
            return
        time.sleep(_RETRY_SECONDS)
        for number in fresh:
            results[number] = checks[number].results()


def _own_locks() -> list[str]:
    """Return the paths of the lock files that belong to no session."""
    lists = [
        f"{path}.lock"
        for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents())
    ]
    setup = f"{paths.setup_record()}.lock"
    return [os.path.join(paths.archive(), ".lock"), *lists, setup, paths.watch_lock_file()]


def _is_fresh(files: Iterable[str]) -> bool:
    now = time.time_ns()
    return any(0 <= now - mtime < 2e9 for path in files for _, _, mtime in fingerprints_of([path]))


def _size(files: Iterable[str]) -> int:
    return sum(size for path in files for _, size, _ in fingerprints_of([path]))


def _find_abandoned_temps(found: Stores) -> list[str]:
    """Return the temp files that killed cortext processes left, also in folders of the AI tools."""
    try:
        others = (
            [] if is_absent(paths.setup_record()) else SetupRecord.load().abandoned_temp_files()
        )
    except OSError:
        others = []  # `check_own_files` reports a record that cannot be read.
    return check_temp_files_and_modes.find_temp_files(_temp_folders(found), others)


def _temp_folders(found: Stores) -> list[str]:
    """Return the folders in which cortext writes temp files before it renames them."""
    data = os.path.dirname(paths.archive())
    temp_folders = [data, os.path.dirname(paths.words()), paths.archive(), paths.running()]
    temp_folders.append(os.path.dirname(user_file()))
    temp_folders += [
        os.path.join(paths.running(), "captured"),
        os.path.join(paths.archive(), ".known"),
    ]
    temp_folders += [] if is_absent(paths.archive()) else [temp_dir()]
    for shelf in found.shelves:
        temp_folders += [shelf, f"{shelf}/.cortext", f"{shelf}/.cortext/locks"]
    # A move between disks writes its temp file in the target folder.
    temp_folders += list_day_folders(found)
    # A session that is written for a tool gets its temp file in the tool's folder.
    temp_folders += [folder for tool in tool_names() for folder in folders(tool, own_home(tool))]
    return list(dict.fromkeys(temp_folders))


def _find_open_to_others(found: Stores, all_items: Iterable[CheckItem]) -> dict[str, set[str]]:
    """Return the paths that other users may read or change, by the kind of their contents.

    The kinds are "conversations" and "keys".
    """
    data = os.path.dirname(paths.archive())
    conversations = set(
        check_temp_files_and_modes.filter_readable_by_others(
            path for item in all_items for path in item.private
        )
    )
    conversations.update(
        check_temp_files_and_modes.filter_readable_by_others(
            [*found.logs, data, os.path.dirname(paths.words())]
        )
    )
    conversations.update(
        check_temp_files_and_modes.filter_readable_by_others([paths.words(), paths.catalog()])
    )
    conversations.update(check_temp_files_and_modes.find_readable_by_others([paths.archive()]))
    keys = set(check_temp_files_and_modes.find_readable_by_others([paths.service_tokens()]))
    keys.update(check_temp_files_and_modes.filter_readable_by_others([paths.redaction_key()]))
    return {"conversations": conversations, "keys": keys}
