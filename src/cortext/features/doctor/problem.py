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
"""The severities.

A problem is something damaged or not working. A warning may cause trouble later. A note is only
information.
"""

CONFLICT = "git left conflict markers in it"
UNFORESEEN = "it is as it was; please tell us of this file: doctor is to look at any"


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

    `did` is a sentence about what was done. `kept` are the paths where the previous files are.
    """

    did: str
    kept: list[str]


class Repair(NamedTuple):
    """One step of a repair plan.

    `sentence` tells the user what the step will do. `do` runs the step: it checks again before it
    changes anything, and returns None if there is nothing left to do. If it raises OSError or
    CortextError, nothing was changed.
    """

    sentence: str
    do: Callable[[], Repaired | None]


class CheckResult(NamedTuple):
    """The problems that one check found, and one repair for all of them that can be repaired."""

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
    """Return a number with its noun, such as "1 line" or "3 lines"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def describe_nuls(count: int) -> str:
    """Return a clause that reports `count` NUL bytes in a file."""
    stand = "NUL byte stands" if count == 1 else "NUL bytes stand"
    return f"{count} {stand} where something was written"


_TYPE = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)` - at `\$\.([^`]+)`")
_VALUE = re.compile(r"Invalid enum value ('.*') - at `\$\.([^`]+)`")
_FIELD = re.compile(r"Object missing required field `(\w+)`.*")
_WORDS = {
    "str": "text", "int": "a number", "float": "a number", "bool": "yes or no", "null": "nothing",
    "array": "a list", "object": "an object", "datetime": "a time",
}  # fmt: skip


def reword_decode_error(why: str) -> str:
    """Return the error message `why` of a JSON decoder in words that users understand."""
    why = _TYPE.sub(_of_type, why)
    why = _VALUE.sub(r"its `\2` is \1, which is none that we know", why)
    why = _FIELD.sub(r"it has no `\1`", why)
    return why.replace(" at at ", " at ").removeprefix("is not a session: ")


def _of_type(found: re.Match[str]) -> str:
    wanted, got = (_WORDS.get(found[at], found[at]) for at in (1, 2))
    return f"its `{found[3]}` is {got}, and should be {wanted}"


def report_unreadable(path: str, error: OSError | NewerVersionError) -> CheckResult:
    """Return the problem of a file that cannot be read because of `error`.

    A file that was deleted meanwhile is no problem. A file of a newer release is only a note.
    """
    if isinstance(error, FileNotFoundError):
        return _leads_nowhere(path) if os.path.islink(path) else NOTHING
    if isinstance(error, NewerVersionError):
        return CheckResult([Problem(str(error), error.hint, NOTE, error.path)])
    where = error.filename if isinstance(error.filename, str) else path
    text = f"{where} cannot be read: {reason_of(error)}"
    return CheckResult([Problem(text, _hint_of(error), path=where)])


def _leads_nowhere(path: str) -> CheckResult:
    text = f"{path} is a link that leads nowhere: {os.readlink(path)}"
    return CheckResult([Problem(text, "remove it, or put back what it leads to", path=path)])


def _hint_of(error: OSError) -> str:
    if error.errno in (errno.EISDIR, errno.ENOTDIR):
        return "something else is in its place: look what it is, and move it away"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "check who owns it and its permissions"
    if error.errno == errno.ELOOP:
        return "it is a link that leads to itself: remove it"
    if error.errno == errno.EIO:
        return "the disk may be failing: copy what is on it to another one first"
    return "look whether the disk that it is on works"


def report_unforeseen(path: str, error: Exception) -> CheckResult:
    """Return the problem of a path whose check raised the exception `error`."""
    if isinstance(error, OSError):
        return report_unreadable(path, error)
    if isinstance(error, CortextError):
        return CheckResult([Problem(str(error), error.hint or UNFORESEEN, path=path)])
    text = f"{path} cannot be looked at: {type(error).__name__}: {error!s:.200}"
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

    `mend` says what `--fix` would do. It is ignored if the damage cannot be repaired. `hint`
    replaces the usual hint.
    """
    where = path if trouble.line is None else f"{path}, line {trouble.line}"
    mend = mend if trouble.mends else ""
    usual = f"`cortext doctor --fix` {'mends it' if mend else 'leaves it as it is'}"
    return Problem(
        f"{where}: {trouble.text}", hint or usual, trouble.severity, path, trouble.line, mend
    )
