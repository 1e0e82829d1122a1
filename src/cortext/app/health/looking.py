"""Looking over all that a person has: each file once, and into it where it has changed."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cortext import paths
from cortext.app.archive import temp_dir
from cortext.app.health import leftovers, machine
from cortext.app.health.checked import Checked, prints_of
from cortext.app.health.copies import copies
from cortext.app.health.derived import check_database, databases
from cortext.app.health.locks import check_locks, lock_files
from cortext.app.health.masks import check_masked
from cortext.app.health.notes import check_exports, check_notes
from cortext.app.health.problem import Found, Mend, Problem
from cortext.app.health.stores import Item, Stores, histories_of, items, stores
from cortext.config import user_file

_log = logging.getLogger("cortext.health")
_TRIES = 2
_MOMENT = 0.05
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


def look_over(*, deep: bool = False, progress: Progress | None = None) -> Looked:
    """Look at every store. `deep` reads also what has not changed since it was found sound."""
    found = stores()
    all_items = list(items(found))
    looked = Looked(len(all_items), 0, [], [])
    # First: what is masked has to be known before anything is copied again.
    for first in (check_masked(copies()), *check_notes()):
        looked.add(first)
    looked = _read(looked, all_items, list(histories_of(found)), Checked(deep=deep), progress)
    looked.problems.extend(
        Problem(f"{folder} cannot be looked into: {why}", "check who owns it", path=folder)
        for folder, why in found.failures.items()
    )
    for path in databases(found.shelves):
        looked.add(check_database(path, deep=deep))
    for export in check_exports(found.documents):
        looked.add(export)
    looked.problems.extend(check_locks([*lock_files(found.shelves), *_own_locks()]))
    looked.add(leftovers.check_temps(leftovers.temp_files(_temp_folders(found))))
    for what, there in _open_to_others(found, all_items).items():
        looked.add(leftovers.check_modes(what, sorted(there)))
    looked.problems.extend(leftovers.check_trash())
    looked.problems.extend(machine.check_names())
    looked.problems.extend(machine.check_disks([*found.shelves, paths.archive(), paths.words()]))
    return looked


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
    for item, size in zip(new, sizes, strict=True):
        before = prints_of(item.files)
        found = _check(item)
        if not found.problems:
            checked.note(item.name, item.files, before)
        looked.add(found)
        done += size
        if progress:
            progress(done, total)
    try:
        checked.save()
    except OSError as error:
        _log.info("what is sound could not be noted: %s", error)
    return looked._replace(read=count)


def _own_locks() -> list[str]:
    """The locks that are of no session."""
    data = os.path.dirname(paths.archive())
    lists = [f"{path}.lock" for path in (paths.known_workspaces(), paths.known_programs())]
    setup = os.path.join(data, "setup.json.lock")
    return [os.path.join(paths.archive(), ".lock"), *lists, setup, paths.watch_mark()]


def _check(item: Item) -> Found:
    """What is wrong with one thing. Somebody may be writing it: that does not stay so."""
    found = item.check()
    for _ in range(_TRIES):
        if not found.problems or not _is_fresh(item.files):
            break
        time.sleep(_MOMENT)
        found = item.check()
    return found


def _is_fresh(files: Iterable[str]) -> bool:
    now = time.time_ns()
    return any(now - print[2] < 2e9 for path in files for print in prints_of([path]))


def _size(files: Iterable[str]) -> int:
    return sum(print[1] for path in files for print in prints_of([path]))


def _temp_folders(found: Stores) -> list[str]:
    """Where we write files before they get their names."""
    data = os.path.dirname(paths.archive())
    ours = [data, os.path.dirname(paths.words()), temp_dir(), paths.running()]
    ours.append(os.path.dirname(user_file()))
    ours += [os.path.join(paths.running(), "captured"), os.path.join(paths.archive(), ".known")]
    for shelf in found.shelves:
        ours += [shelf, f"{shelf}/.cortext", f"{shelf}/.cortext/locks"]
    return list(dict.fromkeys(ours))


def _open_to_others(found: Stores, all_items: Iterable[Item]) -> dict[str, set[str]]:
    """What others may read, by what it holds."""
    data = os.path.dirname(paths.archive())
    spoken = set(leftovers.only_open(path for item in all_items for path in item.private))
    spoken.update(leftovers.only_open([*found.logs, data, os.path.dirname(paths.words())]))
    spoken.update(leftovers.only_open([paths.words(), paths.catalog()]))
    spoken.update(leftovers.open_to_others([paths.archive()]))
    keys = set(leftovers.open_to_others([paths.service_tokens()]))
    keys.update(leftovers.only_open([paths.redaction_key()]))
    return {"conversations": spoken, "keys": keys}
