"""Run the steps of a repair plan, and never lose a readable message by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cortext.errors import CortextError, SessionStorageError
from cortext.features.doctor.problem import UNFORESEEN, Problem, Repair, Repaired, pluralize
from cortext.features.doctor.salvage.text_encoding import repair_value_characters
from cortext.model.message import SessionMessage


class FailedRepair(msgspec.Struct):
    """A step that could not be done: nothing was changed by it."""

    step: str
    why: str
    hint: str = ""


class RepairOutcome(msgspec.Struct):
    """What was done, and what could not be."""

    mended: list[Repaired]
    failed: list[FailedRepair]


def run_repairs(mends: Iterable[Repair]) -> RepairOutcome:
    """Every step. One that fails stops no other; one with nothing left to do is not named."""
    outcome = RepairOutcome([], [])
    for mend in mends:
        try:
            done = mend.do()
        except CortextError as error:
            outcome.failed.append(FailedRepair(mend.sentence, str(error), error.hint))
        except OSError as error:
            outcome.failed.append(FailedRepair(mend.sentence, error.strerror or str(error)))
        except Exception as error:  # noqa: BLE001  one of them must not keep the others
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
    """SessionStorageError, if a message that `read` gives is not among the `new` ones. Whoever
    mends calls it before anything is changed: that the rescue is wrong must cost nobody a word."""
    try:
        now = {repair_value_characters(message.id) for message in read()}
    except CortextError:
        return  # nothing of it can be read as it is
    missing = now - {message.id for message in new}
    if missing:
        what = pluralize(len(missing), "message")
        text = f"{path} was left as it is: {what} that can be read would not be in it any more"
        raise SessionStorageError(text, path=path, hint=UNFORESEEN)


MANY = 20
"""Files of which each is named; where there are more, one stands for all of its kind."""
_SOME = 10
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\d+")


def problem_kind(problem: Problem) -> str:
    """What a problem says without what it says of its file alone."""
    text = problem.text.replace(problem.path, "") if problem.path else problem.text
    return f"{problem.severity} {_PARTICULAR.sub('#', text)}"


def count_repeated_kinds(problems: Sequence[Problem]) -> dict[str, int]:
    """In how many files each kind is that is in several, where there are many files."""
    files: dict[str, set[str]] = {}
    for problem in problems:
        files.setdefault(problem_kind(problem), set()).add(problem.path)
    if len({problem.path for problem in problems}) <= MANY:
        return {}
    return {kind: len(paths) for kind, paths in files.items() if len(paths) > _SOME}
