"""Doing what a plan says, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cortext.app.health.problem import Mend, Mended
from cortext.errors import CortextError


class Failed(msgspec.Struct):
    """A step that could not be done: nothing was changed by it."""

    step: str
    why: str
    hint: str = ""


class Outcome(msgspec.Struct):
    """What was done, and what could not be."""

    mended: list[Mended]
    failed: list[Failed]


def mend_all(mends: Iterable[Mend]) -> Outcome:
    """Every step. One that fails stops no other; one with nothing left to do is not named."""
    outcome = Outcome([], [])
    for mend in mends:
        try:
            done = mend.do()
        except CortextError as error:
            outcome.failed.append(Failed(mend.sentence, str(error), error.hint))
        except OSError as error:
            outcome.failed.append(Failed(mend.sentence, error.strerror or str(error)))
        else:
            if done is not None:
                outcome.mended.append(done)
    return outcome
