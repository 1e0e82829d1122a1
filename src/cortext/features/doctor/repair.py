"""Run the repairs of `cortext doctor --fix`, without losing any message that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cortext.errors import CortextError, SessionStorageError
from cortext.features.doctor.check_results import UNFORESEEN, Problem, Repair, Repaired, pluralize
from cortext.features.doctor.salvage.damaged_text import repair_value_characters
from cortext.model.message import SessionMessage


class FailedRepair(msgspec.Struct):
    """A repair that failed and changed nothing. `step` is its sentence in the repair plan."""

    step: str
    why: str
    hint: str = ""


class RepairOutcome(msgspec.Struct):
    """The outcome of a repair run: the repairs that were done, and those that failed."""

    mended: list[Repaired]
    failed: list[FailedRepair]


def run_repairs(mends: Iterable[Repair]) -> RepairOutcome:
    """Run every repair and return the outcome.

    A repair that fails does not stop the others. The outcome leaves out repairs that had nothing
    left to do.
    """
    outcome = RepairOutcome([], [])
    for mend in mends:
        try:
            done = mend.do()
        except CortextError as error:
            outcome.failed.append(FailedRepair(mend.sentence, str(error), error.hint))
        except OSError as error:
            outcome.failed.append(FailedRepair(mend.sentence, error.strerror or str(error)))
        except Exception as error:  # noqa: BLE001  one failed repair must not stop the others
            why = f"the repair failed: {type(error).__name__}: {error!s:.200}"
            outcome.failed.append(FailedRepair(mend.sentence, why, UNFORESEEN))
        else:
            if done is not None:
                outcome.mended.append(done)
    return outcome


def ensure_nothing_lost(
    path: str,
    read: Callable[[], Iterable[SessionMessage]],
    new: Iterable[SessionMessage],
) -> None:
    """Raise SessionStorageError if a repair would lose a message of the file at `path`.

    `read` returns the messages that can be read now. `new` are the messages that the file will have
    after the repair. A repair calls this function before it changes anything.
    """
    try:
        current_ids = {repair_value_characters(message.id) for message in read()}
    except CortextError:
        return  # Nothing can be read now, so nothing can be lost.
    missing = current_ids - {message.id for message in new}
    if missing:
        what = pluralize(len(missing), "message")
        text = f"{path} was not changed: the repair would lose {what} that can be read"
        raise SessionStorageError(text, path=path, hint=UNFORESEEN)


MANY = 20
"""The number of damaged files up to which the report names every file.

With more damaged files, the report names only one file for each frequent kind of problem.
"""
_FREQUENT = 10
_VARIABLE_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\d+")


def problem_kind(problem: Problem) -> str:
    """Return the kind of a problem: its text without the path, names and numbers.

    The report groups problems of the same kind.
    """
    text = problem.text.replace(problem.path, "") if problem.path else problem.text
    return f"{problem.severity} {_VARIABLE_TEXT.sub('#', text)}"


def count_repeated_kinds(problems: Sequence[Problem]) -> dict[str, int]:
    """Return the number of files with each frequent kind of problem.

    The keys are kinds, as `problem_kind` returns them. A kind is frequent if more than 10 files
    have it. Return {} if at most 20 files have problems.
    """
    files: dict[str, set[str]] = {}
    for problem in problems:
        files.setdefault(problem_kind(problem), set()).add(problem.path)
    if len({problem.path for problem in problems}) <= MANY:
        return {}
    return {kind: len(paths) for kind, paths in files.items() if len(paths) > _FREQUENT}
