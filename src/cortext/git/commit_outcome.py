"""What became of a wish to record files in git."""

from __future__ import annotations

import unicodedata
from typing import Literal, NamedTuple

Outcome = Literal[
    "committed",
    "staged",
    "unchanged",
    "ignored",
    "off",
    "no-git",
    "no-repository",
    "not-root",
    "not-ours",
    "no-identity",
    "busy",
    "refused",
    "not-allowed",
    "failed",
]


_HIDDEN = ("Cc", "Cf", "Cs")


class Recorded(NamedTuple):
    """What git has now. Only committed has moved HEAD, and only committed and staged the index.

    (Unchanged may have moved it too: to where a stop that was killed should have brought it.)
    `paths` (recorded) and `ignored` are as git names them, from the top of the repository.
    `note` is one clean sentence for the person, with what to do, or "" if there is nothing to say.
    """

    outcome: Outcome
    commit: str
    paths: list[str]
    ignored: list[str]
    note: str


class NotRecorded(Exception):
    """Nothing can be recorded here, or not now. What is on disk is not concerned."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome

    @property
    def note(self) -> str:
        why = one_line(str(self))
        return f"not recorded in git: {why}" if why else ""


class NotAllowed(NotRecorded):
    """The caller looked at what would be stored, and said no."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__("not-allowed", "")
        self.paths = paths


class GitFailed(NotRecorded):
    """git said no, and we do not know better why than git."""

    def __init__(self, command: str, said: str) -> None:
        self.said = said
        super().__init__("failed", f"git {command} failed: {said or 'it did not say why'}")


def one_line(text: str) -> str:
    """Text on one line that can neither move a cursor, nor turn the line around, nor hide in it."""
    line = " ".join(text.split())
    # Joiners hold emoji and several scripts together, and do nothing else.
    return "".join(c for c in line if unicodedata.category(c) not in _HIDDEN or c in "\u200c\u200d")
