"""Doing what a plan says, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cortext.errors import CortextError
from cortext.features.doctor.problem import UNFORESEEN, Mend, Mended


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
        except Exception as error:  # noqa: BLE001  one of them must not keep the others
            why = f"it cannot be done: {type(error).__name__}: {error!s:.200}"
            outcome.failed.append(Failed(mend.sentence, why, UNFORESEEN))
        else:
            if done is not None:
                outcome.mended.append(done)
    return outcome
