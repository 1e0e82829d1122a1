"""The outcome of an attempt to record files in git."""

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
    """The result of recording a conversation's files in git.

    Only "committed" moves HEAD. "committed" and "staged" change the index. "unchanged" can change
    the index too, to repair it after an earlier commit was interrupted. `paths` (the recorded
    files) and `ignored` are relative to the top of the repository. `note` is one line for the user
    that says what to do, or "".
    """

    outcome: Outcome
    commit: str
    paths: list[str]
    ignored: list[str]
    note: str


class NotRecorded(Exception):
    """The files cannot be recorded in git. The files on disk are not affected."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome

    @property
    def note(self) -> str:
        """The reason as one line for the user; "" if there is none."""
        why = one_line(str(self))
        return f"not recorded in git: {why}" if why else ""


class NotAllowed(NotRecorded):
    """The caller's `allow` function refused the contents of the files `paths`."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__("not-allowed", "")
        self.paths = paths


class GitFailed(NotRecorded):
    """A git command failed. `said` is the reason that git printed."""

    def __init__(self, command: str, said: str) -> None:
        self.said = said
        super().__init__("failed", f"git {command} failed: {said or 'it did not say why'}")


def one_line(text: str) -> str:
    """Return text on one line, without characters that are invisible or control a terminal."""
    line = " ".join(text.split())
    # Joiners are harmless, and emoji and several scripts need them.
    return "".join(c for c in line if unicodedata.category(c) not in _HIDDEN or c in "\u200c\u200d")
