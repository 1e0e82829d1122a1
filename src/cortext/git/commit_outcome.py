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


_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs")


class Recorded(NamedTuple):
    """The result of recording a conversation's files in git.

    - `outcome`: "committed" if HEAD and the index changed, "staged" if only the index changed. With
      any other outcome, nothing was recorded. (With "unchanged", the index may have been repaired
      after an interrupted commit)
    - `commit`: the id of the new commit, or ""
    - `paths`: the recorded files, or the refused files if the outcome is "not-allowed"
    - `ignored`: the files that git ignores
    - `note`: one line for the user, or ""

    All paths are relative to the top of the repository.
    """

    outcome: Outcome
    commit: str
    paths: list[str]
    ignored: list[str]
    note: str


class NotRecordedError(Exception):
    """The files cannot be recorded in git. The files on disk are not affected."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome: Outcome = outcome

    @property
    def note(self) -> str:
        """One line for the user, such as "not recorded in git: REASON"; "" without a reason."""
        why = one_line(str(self))
        return f"not recorded in git: {why}" if why else ""


class NotAllowedError(NotRecordedError):
    """The caller's function `allow` refused to store the files `paths`."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__("not-allowed", "")
        self.paths = paths


class GitFailedError(NotRecordedError):
    """A git command failed. `said` is the reason that git printed."""

    def __init__(self, command: str, said: str) -> None:
        self.said = said
        super().__init__("failed", f"git {command} failed: {said or 'no reason given'}")


def one_line(text: str) -> str:
    """Return text on one line, without characters that are invisible or control a terminal."""
    line = " ".join(text.split())
    # Keep the two zero-width joiners: they are harmless, and emoji and several scripts need them.
    return "".join(
        c for c in line if unicodedata.category(c) not in _HIDDEN_CATEGORIES or c in "\u200c\u200d"
    )
