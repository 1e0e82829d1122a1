"""One fault of a campaign: which are tried, and what may be said and left over after one."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.faults.kinds import KINDS, Fault
from tests.faults.scenes import Said, Scene

_NOT_DONE = (
    *("not done: ", "problem: ", "kept: ", "not deleted: ", "not copied: "),
    "warning: not copied: ",
    # As grep ends, and after saying of each that was not searched why.
    "No results",
    "not deleted: ",
)
UNREAD = ("could not read ", "not scanned: ", "not looked at: ", "skipped ", " is passed over: ")
"""A command that does something to all that it finds says what it could not look at."""
BY_CODE = ("sync", "clean", "scan", "redact")
"""Of these, the exit code tells whether something was not looked at: 0 is all of it."""
_LONG_AGO = 7200.0
_TRASH = "data/cortext/trash"
_KEPT = (
    *(_TRASH, "work/conversations/", "aurora/spawn/sessions/", "cache/cortext/"),
    *("data/cortext/errors.log", "data/cortext/running", "data/cortext/redaction.key"),
    # A session for a tool has another name each time; the settings are ours, to see that they work.
    *(".claude/projects/", "config"),
)


class Case(NamedTuple):
    """One fault: whether it happened, how the command took it, and what did not hold after it."""

    scene: str
    fault: Fault
    where: str
    fired: bool
    code: int | None
    violations: list[str]

    @property
    def outcome(self) -> str:
        if self.code == 0:
            return "did it"
        return "killed" if self.code is not None and self.code < 0 else "said so"


def badly_said(scene: Scene, told: Said, *, killed: bool) -> Iterator[str]:
    """One sentence where it failed, and never where it happened in our code."""
    if killed and told.code is not None and told.code < 0:
        return
    both = told.err + told.out
    if any(word in both for word in ("Traceback", "unexpected error", "something unexpected")):
        yield f"no sentence for a person: {both.strip()}"
    elif told.code not in (0, 1, 2, 3, 5, 6):
        yield f"exit {told.code}: {both}"
    errors = [line for line in told.err.splitlines() if line.startswith("error: ")]
    # Some do many things, and say of each that failed why it did.
    spoken = errors or [line for line in both.splitlines() if _is_told(line)]
    # A talk goes on after one.
    if told.code and (not spoken or (len(errors) > 1 and scene.program != "aur")):
        yield f"exit {told.code}, and said: {told.out} {told.err}"
    if "[Errno" in both:
        yield f"a number in place of a reason: {both.strip()}"


def _is_told(line: str) -> bool:
    """Whether a line says of one thing that it was not done, or not looked at."""
    return line.startswith(_NOT_DONE) or any(words in line for words in UNREAD)


def not_kept(scene: Scene, told: Said, texts: dict[str, list[str]]) -> Iterator[str]:
    """What a program said that it has kept, and has not: also where it failed or was killed after
    that."""
    there = texts.get(scene.acknowledged, [])
    for line in told.out.splitlines() if scene.acknowledged else ():
        if line not in there:
            yield f"acknowledged, and not kept: {line}"


def chosen(name: str, counts: dict[str, int], most: int) -> list[Fault]:
    """For each kind some calls, the first and the last among them; a kill cannot last."""
    pick = random.Random(name)
    found: list[Fault] = []
    for kind in KINDS:
        for lasts in (False, True)[: 1 if kind == "SIGKILL" else 2]:
            some = most * 2 if kind == "SIGKILL" else most
            found += [Fault(kind, at, lasts) for at in points(pick, counts[kind], some)]
    return found


def points(pick: random.Random, count: int, most: int) -> list[int]:
    """Up to `most` of the numbers from 1 to `count`, and both ends in any case."""
    between = range(2, count)
    some = pick.sample(between, min(max(most - 2, 0), len(between)))
    return sorted({1, count, *some}) if count else []


def belongs_there(name: str) -> bool:
    """Whether a file is of a conversation or a session, in the trash, derived, or a lock, which
    stays where it was made. No half-written file is."""
    if name.endswith((".tmp", ".part", "-journal")) and not name.startswith(_TRASH):
        return False
    return name.startswith(_KEPT) or name.endswith(".lock")


def age(folder: Path) -> None:
    """Let what nobody finished be of long ago."""
    then = time.time() - _LONG_AGO
    for path in folder.rglob(".*.tmp"):
        os.utime(path, (then, then), follow_symlinks=False)
