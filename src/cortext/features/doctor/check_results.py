"""The result types of the checks of `cortext doctor`: problems, hints and repairs."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from cortext.errors import CortextError, NewerVersionError, reason_of

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
"""The severities of a `Problem`.

PROBLEM means that something is damaged or does not work. WARNING means that it may cause trouble
later. NOTE is only information.
"""

CONFLICT = "the file contains git conflict markers"
UNFORESEEN = "the file was not changed; please report this as a bug in `cortext doctor`"


class Problem(msgspec.Struct):
    """One problem that `cortext doctor` reports.

    `text` is a sentence that names the file and the line. `hint` says what the user can do. `mend`
    says what `--fix` would do about the problem, or "" if `--fix` does nothing.
    """

    text: str
    hint: str
    severity: str = PROBLEM
    path: str = ""
    line: int | None = None
    mend: str = ""


class Repaired(msgspec.Struct):
    """The result of a repair.

    `did` is a sentence that says what the repair did. The repair does not delete the old files: it
    keeps them under other names. `kept` are the paths with these names.
    """

    did: str
    kept: list[str]


_TORN_FILE = re.compile(r"\.torn(?:-\d+)?$")


def describe_kept(kept: Sequence[str]) -> str:
    """Return a clause that names the old files that a repair kept. Return "" if there are none.

    A `.torn` file has only the incomplete last line, not the whole original.
    """
    torn = [path for path in kept if _TORN_FILE.search(path)]
    originals = [path for path in kept if path not in torn]
    clauses = [f"; original kept: {', '.join(originals)}"] if originals else []
    clauses += [f"; the cut line is kept in {', '.join(torn)}"] if torn else []
    return "".join(clauses)


class Repair(NamedTuple):
    """One step of a repair plan.

    `sentence` tells the user what the step will do. `do` runs the step: it checks again before it
    changes anything, and returns None if there is nothing left to do. If it raises OSError or
    CortextError, nothing was changed.
    """

    sentence: str
    do: Callable[[], Repaired | None]


class CheckResult(NamedTuple):
    """The problems that one check found, and the repair for them.

    `mend` repairs every problem that can be repaired. It is None if no problem can be repaired.
    """

    problems: Sequence[Problem] = ()
    mend: Repair | None = None


NOTHING = CheckResult()


def is_absent(path: str) -> bool:
    """Return whether nothing exists at a path. A path that cannot be examined counts as present."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def pluralize(number: int, word: str) -> str:
    """Return a number with a noun, such as "1 line" or "3 lines". `word` is the singular."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def describe_nuls(count: int) -> str:
    """Return a clause that reports `count` NUL bytes in a file."""
    return f"found {pluralize(count, 'NUL byte')} in place of data"


_TYPE = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)` - at `\$\.([^`]+)`")
_VALUE = re.compile(r"Invalid enum value ('.*') - at `\$\.([^`]+)`")
_FIELD = re.compile(r"Object missing required field `(\w+)`.*")
_TYPE_NAMES = {
    "str": "text", "int": "a number", "float": "a number", "bool": "yes or no", "null": "nothing",
    "array": "a list", "object": "an object", "datetime": "a time",
}  # fmt: skip


def reword_decode_error(why: str) -> str:
    """Translate the error message `why` of a JSON decoder into words that users understand."""
    why = _TYPE.sub(_reword_type_error, why)
    why = _VALUE.sub(r"`\2` has the unknown value \1", why)
    why = _FIELD.sub(r"the field `\1` is missing", why)
    return why.replace(" at at ", " at ").removeprefix("is not a session: ")


def _reword_type_error(found: re.Match[str]) -> str:
    wanted, actual = (_TYPE_NAMES.get(found[group], found[group]) for group in (1, 2))
    return f"`{found[3]}` is {actual}, but should be {wanted}"


def report_unreadable(path: str, error: OSError | NewerVersionError) -> CheckResult:
    """Return the problem of a file that cannot be read because of `error`.

    Return no problem if the file was deleted meanwhile. Return only a note if a newer release of
    cortext wrote the file.
    """
    if isinstance(error, FileNotFoundError):
        return _report_broken_link(path) if os.path.islink(path) else NOTHING
    if isinstance(error, NewerVersionError):
        return CheckResult([Problem(str(error), error.hint, NOTE, error.path)])
    where = error.filename if isinstance(error.filename, str) else path
    text = f"{where} cannot be read: {reason_of(error)}"
    return CheckResult([Problem(text, _hint_of(error), path=where)])


def _report_broken_link(path: str) -> CheckResult:
    text = f"{path} is a link to a file that does not exist: {os.readlink(path)}"
    return CheckResult([Problem(text, "remove the link, or restore that file", path=path)])


def _hint_of(error: OSError) -> str:
    if error.errno in (errno.EISDIR, errno.ENOTDIR):
        return "something else is at this path; check what it is, and move it away"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "check its owner and permissions"
    if error.errno == errno.ELOOP:
        return "the link points to itself; remove the link"
    if error.errno == errno.EIO:
        return "the disk may be failing; first copy its contents to another disk"
    return "check that the disk works"


def report_unforeseen(path: str, error: Exception) -> CheckResult:
    """Return the problem to report if the check of a path raised the exception `error`."""
    if isinstance(error, OSError):
        return report_unreadable(path, error)
    if isinstance(error, CortextError):
        return CheckResult([Problem(str(error), error.hint or UNFORESEEN, path=path)])
    text = f"could not check {path}: {type(error).__name__}: {error!s:.200}"
    return CheckResult([Problem(text, UNFORESEEN, path=path)])


class Trouble(NamedTuple):
    """One piece of damage inside a file.

    `text` describes the damage. `mends` says whether `--fix` can repair the damage without losing
    anything.
    """

    text: str
    line: int | None = None
    severity: str = PROBLEM
    mends: bool = True

    @property
    def is_conflict(self) -> bool:
        return self.text.startswith(CONFLICT)


def describe_trouble(path: str, trouble: Trouble, mend: str = "", hint: str = "") -> Problem:
    """Return the problem that reports one piece of damage in a file.

    `mend` says what `--fix` would do. It is ignored if the damage cannot be repaired. If `hint` is
    given, it replaces the usual hint.
    """
    where = path if trouble.line is None else f"{path}, line {trouble.line}"
    mend = mend if trouble.mends else ""
    usual = "`cortext doctor --fix` repairs it" if mend else _no_repair_hint(trouble)
    return Problem(
        f"{where}: {trouble.text}", hint or usual, trouble.severity, path, trouble.line, mend
    )


def _no_repair_hint(trouble: Trouble) -> str:
    """Return the hint for damage that `--fix` cannot repair."""
    if trouble.severity == NOTE:
        return "you need not do anything; `cortext doctor --fix` does not change it"
    return (
        "`cortext doctor --fix` does not change it; look at the file, and restore it from a backup "
        "or from git"
    )
