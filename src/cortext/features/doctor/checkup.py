"""Check every file of a person once, and read only the files that changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import DecodeError
from msgspec.json import decode, encode

from cortext import paths
from cortext.config import user_file
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import make_private_dir, replace
from cortext.features.archive.archive_state import temp_dir
from cortext.features.doctor import check_leftovers, check_machine
from cortext.features.doctor.check_archive import copies
from cortext.features.doctor.check_indexes import check_database, databases
from cortext.features.doctor.check_locks import check_locks, lock_files
from cortext.features.doctor.check_state_files import (
    check_begun,
    check_exports,
    check_masked,
    check_notes,
)
from cortext.features.doctor.inventory import (
    Item,
    Stores,
    days_of,
    histories_of,
    inner_of,
    items,
    stores,
)
from cortext.features.doctor.problem import Found, Mend, Problem, unforeseen
from cortext.features.setup.manifest import Installed
from cortext.stores.fingerprints import Fingerprint
from cortext.tools.registry import tool_names
from cortext.tools.scan import folders, own_home

_log = logging.getLogger("cortext.health")
_TRIES = 2
_MOMENT = 0.05
_CLOSED = "look what is there, who owns it and its permissions"
Progress = Callable[[int, int], None]
"""Called with how many bytes are done, and of how many."""


class Looked(NamedTuple):
    """What was found: how many conversations there are, of how many the files were read, what is
    wrong, and what would mend it."""

    conversations: int
    read: int
    problems: list[Problem]
    mends: list[Mend]

    def add(self, found: Found) -> None:
        self.problems.extend(found.problems)
        if found.mend is not None:
            self.mends.append(found.mend)

    def add_all(self, place: str, look: Callable[[], Iterable[Found]]) -> None:
        """What one kind of looking finds. That it fails is one more problem, and ends no other."""
        try:
            for found in look():
                self.add(found)
        except Exception as error:  # noqa: BLE001  a place that nobody thought of hides no other
            _log.info("%s could not be looked at", place, exc_info=True)
            self.add(unforeseen(place, error))


def look_over(*, deep: bool = False, progress: Progress | None = None) -> Looked:
    """Look at every store. `deep` reads also what has not changed since it was found sound."""
    found = stores()
    all_items = list(items(found))
    looked = Looked(len(all_items), 0, [], [])
    # First: what is masked has to be known before anything is copied again.
    looked.add_all(paths.archive(), lambda: [check_masked(copies())])
    looked.add_all(os.path.dirname(paths.archive()), check_notes)
    looked.add_all(os.path.dirname(paths.archive()), lambda: [check_begun()])
    inner = list(inner_of(found))
    others = [*histories_of(found), *inner]
    looked = _read(looked, all_items, others, Checked(deep=deep), progress)
    looked.problems.extend(
        Problem(f"{folder} cannot be looked into: {why}", _CLOSED, path=folder)
        for folder, why in found.failures.items()
    )
    for path in databases(found.shelves):
        looked.add_all(path, lambda path=path: [check_database(path, deep=deep)])
    looked.add_all(paths.document_dir(), lambda: check_exports(found.documents))
    _look_around(looked, found, [*all_items, *inner])
    return looked


def _look_around(looked: Looked, found: Stores, all_items: list[Item]) -> None:
    """At what is beside the conversations, and at the machine."""
    data = os.path.dirname(paths.archive())
    shelves = found.shelves

    def modes() -> Iterable[Found]:
        for what, there in _open_to_others(found, all_items).items():
            yield check_leftovers.check_modes(what, sorted(there))

    locks = [*lock_files(shelves), *_own_locks()]
    disks = [*shelves, paths.archive(), paths.words()]
    looked.add_all(data, lambda: [Found(check_locks(locks))])
    looked.add_all(data, lambda: [check_leftovers.check_temps(_abandoned(found))])
    looked.add_all(data, modes)
    looked.add_all(paths.trash(), lambda: [Found(check_leftovers.check_trash())])
    looked.add_all("PATH", lambda: [Found(check_machine.check_names())])
    looked.add_all(data, lambda: [Found(check_machine.check_writing(paths.archive()))])
    looked.add_all(data, lambda: [Found(check_machine.check_disks(disks))])


def _read(
    looked: Looked,
    all_items: list[Item],
    others: list[Item],
    checked: Checked,
    progress: Progress | None,
) -> Looked:
    """Look into what has changed, of the conversations and of the tools' histories."""
    new = [item for item in all_items if not checked.is_sound(item.name, item.files)]
    count = len(new)
    new += [item for item in others if not checked.is_sound(item.name, item.files)]
    sizes = [_size(item.files) for item in new]
    done, total = 0, sum(sizes)
    all_found: list[Found] = []
    for item, size in zip(new, sizes, strict=True):
        before = prints_of(item.files)
        found = _once(item)
        if not found.problems:
            checked.note(item.name, item.files, before)
        all_found.append(found)
        done += size
        if progress:
            progress(done, total)
    _look_again(new, all_found)
    for found in all_found:
        looked.add(found)
    try:
        checked.save()
    except OSError as error:
        _log.info("what is sound could not be noted: %s", error)
    return looked._replace(read=count)


def _own_locks() -> list[str]:
    """The locks that are of no session."""
    data = os.path.dirname(paths.archive())
    lists = [
        f"{path}.lock"
        for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents())
    ]
    setup = os.path.join(data, "setup.json.lock")
    return [os.path.join(paths.archive(), ".lock"), *lists, setup, paths.watch_mark()]


def _look_again(looked_at: list[Item], found: list[Found]) -> None:
    """Somebody may be writing what was found damaged just now: that does not stay so."""
    for _ in range(_TRIES):
        fresh = [
            place
            for place, item in enumerate(looked_at)
            if found[place].problems and _is_fresh(item.files)
        ]
        if not fresh:
            return
        time.sleep(_MOMENT)
        for place in fresh:
            found[place] = _once(looked_at[place])


def _once(item: Item) -> Found:
    try:
        return item.check()
    except Exception as error:  # noqa: BLE001  a file that nobody thought of hides no other
        _log.info("%s could not be looked at", item.name, exc_info=True)
        return unforeseen(item.files[0], error)


def _is_fresh(files: Iterable[str]) -> bool:
    now = time.time_ns()
    return any(0 <= now - print[2] < 2e9 for path in files for print in prints_of([path]))


def _size(files: Iterable[str]) -> int:
    return sum(print[1] for path in files for print in prints_of([path]))


def _abandoned(found: Stores) -> list[str]:
    """What killed processes left of files that they wrote, also of those in a tool's folders."""
    try:
        others = Installed.load().half_written()
    except OSError:
        others = []  # that the record cannot be read is said of it
    return check_leftovers.temp_files(_temp_folders(found), others)


def _temp_folders(found: Stores) -> list[str]:
    """Where we write files before they get their names."""
    data = os.path.dirname(paths.archive())
    ours = [data, os.path.dirname(paths.words()), paths.archive(), temp_dir(), paths.running()]
    ours.append(os.path.dirname(user_file()))
    ours += [os.path.join(paths.running(), "captured"), os.path.join(paths.archive(), ".known")]
    for shelf in found.shelves:
        ours += [shelf, f"{shelf}/.cortext", f"{shelf}/.cortext/locks"]
    # What comes from another disk, or goes to one, is written beside its place.
    ours += days_of(found)
    # So is a session that is written for a tool.
    ours += [folder for tool in tool_names() for folder in folders(tool, own_home(tool))]
    return list(dict.fromkeys(ours))


def _open_to_others(found: Stores, all_items: Iterable[Item]) -> dict[str, set[str]]:
    """What others may read, by what it holds."""
    data = os.path.dirname(paths.archive())
    spoken = set(check_leftovers.only_open(path for item in all_items for path in item.private))
    spoken.update(check_leftovers.only_open([*found.logs, data, os.path.dirname(paths.words())]))
    spoken.update(check_leftovers.only_open([paths.words(), paths.catalog()]))
    spoken.update(check_leftovers.open_to_others([paths.archive()]))
    keys = set(check_leftovers.open_to_others([paths.service_tokens()]))
    keys.update(check_leftovers.only_open([paths.redaction_key()]))
    return {"conversations": spoken, "keys": keys}


_SETTLED_NS = 3600 * 1_000_000_000
"""A tool call that waits for its result is nothing wrong before: see `calls.RESTS`."""
Prints = list[tuple[int, int, int]]


class Checked:
    """What was sound, by its name; with `deep` nothing is believed."""

    def __init__(self, *, deep: bool = False) -> None:
        self._now: dict[str, Prints] = {}
        self._before: dict[str, Prints] = {}
        if not deep:
            try:
                self._before = decode(read_file(paths.checked()), type=dict[str, Prints])
            except (OSError, DecodeError, UnicodeDecodeError):
                self._before = {}  # then everything is read

    def is_sound(self, name: str, files: Sequence[str]) -> bool:
        """Whether files are as they were when nothing was wrong with them."""
        known = self._before.get(name)
        if known is None or known != prints_of(files):
            return False
        self._now[name] = known
        return True

    def note(self, name: str, files: Sequence[str], before: Prints) -> None:
        """Nothing is wrong with files that looked so `before` they were read."""
        if before and before == prints_of(files) and _settled(before):
            self._now[name] = before

    def save(self) -> None:
        """OSError; then it is as before."""
        if self._now != self._before:
            path = paths.checked()
            make_private_dir(os.path.dirname(path))
            replace(path, [encode(self._now)])


def prints_of(files: Sequence[str]) -> Prints:
    """How files look; nothing if one is gone."""
    found = [Fingerprint.at(path) for path in files]
    return [(one.inode, one.size, one.mtime_ns) for one in found if one] if all(found) else []


def _settled(prints: Prints) -> bool:
    return all(time.time_ns() - mtime > _SETTLED_NS for _, _, mtime in prints)
