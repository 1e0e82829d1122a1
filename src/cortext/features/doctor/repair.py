"""Run the repairs of `cortext doctor --fix`, without losing any message that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cortext.errors import CortextError, SessionStorageError
from cortext.features.doctor.problem import UNFORESEEN, Problem, Repair, Repaired, pluralize
from cortext.features.doctor.salvage.text_encoding import repair_value_characters
from cortext.model.message import SessionMessage


class FailedRepair(msgspec.Struct):
    """A repair that failed and changed nothing. `step` says what it was to do."""

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
            why = f"it cannot be done: {type(error).__name__}: {error!s:.200}"
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
    """Raise SessionStorageError if a repair would lose a message of the file `path`.

    `read` returns the messages that can be read now, and `new` are the messages after the repair.
    A repair calls this function before it changes anything.
    """
    try:
        now = {repair_value_characters(message.id) for message in read()}
    except CortextError:
        return  # Nothing can be read now, so nothing can be lost.
    missing = now - {message.id for message in new}
    if missing:
        what = pluralize(len(missing), "message")
        text = f"{path} was left as it is: {what} that can be read would not be in it any more"
        raise SessionStorageError(text, path=path, hint=UNFORESEEN)


MANY = 20
"""With more damaged files than this, the report names one file for each frequent problem."""
_SOME = 10
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\d+")


def problem_kind(problem: Problem) -> str:
    """Return the text of a problem without path, names and numbers.

    Problems with the same text are of the same kind, and the report groups them.
    """
    text = problem.text.replace(problem.path, "") if problem.path else problem.text
    return f"{problem.severity} {_PARTICULAR.sub('#', text)}"


def count_repeated_kinds(problems: Sequence[Problem]) -> dict[str, int]:
    """Return in how many files each kind of problem occurs, for kinds with more than 10 files.

    Return {} if at most 20 files have problems. `problem_kind` returns the kind of a problem.
    """
    files: dict[str, set[str]] = {}
    for problem in problems:
        files.setdefault(problem_kind(problem), set()).add(problem.path)
    if len({problem.path for problem in problems}) <= MANY:
        return {}
    return {kind: len(paths) for kind, paths in files.items() if len(paths) > _SOME}
