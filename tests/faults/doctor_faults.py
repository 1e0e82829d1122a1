"""Faults while doctor mends a home in which everything is damaged:
`python -m tests.faults.doctor_faults FOLDER MOST` prints a line of JSON for each."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults.campaign import Campaign
from tests.faults.cases import Case, chosen
from tests.faults.forked_command import warm
from tests.faults.home import Home
from tests.faults.kinds import Fault, Judging
from tests.faults.scenes import Scene
from tests.features.doctor import damaged_home

NAME = "doctor --fix of all"
_SCENE = Scene(("doctor", "--fix", "--yes"), lambda *_: iter(()))
Ids = dict[tuple[str, str], list[str]]


class Damaged(Campaign):
    """The home of `tests/features/doctor/damaged_home.py`; every case gets a copy of it."""

    def __init__(self, folder: Path) -> None:
        self.home, self._prepared, self._folder = (
            Home(folder / "case"),
            Home(folder / "was"),
            folder,
        )
        environment = self.home.environment
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        warm()
        damaged_home.build(self.home.root)
        self._before = self._readable()
        self.home.root.rename(self._prepared.root)

    def run_all(self, most: int) -> Iterator[Case]:
        judging = Judging(str(self.home.root))
        self.home.fresh(self._prepared)
        self.play(_SCENE, judging)
        mended = self._readable()
        for fault in chosen(NAME, judging.counts, most):
            yield self._one(fault, mended)

    def _one(self, fault: Fault, mended: Ids) -> Case:
        self.home.fresh(self._prepared)
        judging = Judging(str(self.home.root), fault)
        told = self.play(_SCENE, judging)
        found = [f"after it: {text}" for text in _missing(self._before, self._readable())]
        if "Traceback" in told.err + told.out:
            found.append(f"no sentence for a person: {told.err}")
        self.play(_SCENE)
        found += [f"after that: {text}" for text in _missing(mended, self._readable())]
        return Case(NAME, fault, judging.where, judging.fired > 0, told.code, found)

    def _readable(self) -> Ids:
        found: Ids = {}
        for kept in damaged_home.Home(self.home.root).sessions():
            try:
                found[kept.kind, kept.id] = kept.ids()
            except Exception:  # what cannot be read has no messages yet
                found[kept.kind, kept.id] = []
        return found


def _missing(before: Ids, after: Ids) -> Iterator[str]:
    """Each message that could be read then can be read now."""
    for name, ids in before.items():
        if gone := {*ids} - {*after[name]}:
            yield f"lost of {'/'.join(name)}: {sorted(gone)}"


def main(folder: str, most: str) -> None:
    for case in Damaged(Path(folder)).run_all(int(most)):
        told = {**case._asdict(), "fault": case.fault._asdict(), "outcome": case.outcome}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
