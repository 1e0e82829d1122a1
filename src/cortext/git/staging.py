"""git's index: what it has of a conversation, and putting entries into it, whole or not at all."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from cortext.git.commit_outcome import GitFailed, NotRecorded
from cortext.git.repository import Repository
from cortext.git.run_git import reason
from cortext.git.trees import TreeEntry

WAIT = 2.0
"""Seconds for which another git may hold the index before we give up."""
_PAUSE = 0.02


class StagedFiles(NamedTuple):
    """Entries by path; the paths that git was told to leave alone (or that are sparse); and what
    else it has below the folder."""

    entries: dict[str, TreeEntry]
    skipped: set[str]
    others: set[str]


def wait_for_index(repository: Repository) -> None:
    """Return when nobody holds the index, or say who seems to."""
    deadline = time.monotonic() + WAIT
    while os.path.lexists(repository.index_lock):
        if time.monotonic() >= deadline:
            raise _locked(repository)
        time.sleep(_PAUSE)


def read_index(repository: Repository, folder: str, paths: Collection[str]) -> StagedFiles:
    """What the index has of some paths below a folder; a conflict in one of them is busy."""
    below = [folder] if folder else []
    out = repository.git.read("--literal-pathspecs", "ls-files", "-z", "-v", "-s", "--", *below)
    index = StagedFiles({}, set(), set())
    for row in os.fsdecode(out).split("\0")[:-1]:
        facts, _, path = row.partition("\t")
        if path not in paths:
            index.others.add(path)
            continue
        tag, mode, oid, stage = facts.split(" ")
        if stage != "0":
            raise NotRecorded("busy", f"{path} has a conflict; resolve it, then stop again")
        index.entries[path] = TreeEntry(mode, oid)
        # Lower case is "assume unchanged", S "skip the work tree".
        if tag.islower() or tag == "S":
            index.skipped.add(path)
    return index


def write_index(repository: Repository, files: Mapping[str, TreeEntry | None]) -> None:
    """Give paths their entries, or take those out that have none; no other entry is touched."""
    rows = [
        f"{entry.mode} {entry.oid}\t{path}\0" if entry else f"0 {repository.no_id}\t{path}\0"
        for path, entry in files.items()
    ]
    given = os.fsencode("".join(rows))
    deadline = time.monotonic() + WAIT
    while True:
        result = repository.git.run("update-index", "-z", "--index-info", given=given)
        if not result.code:
            return
        if "File exists" not in result.err:
            # A git that was killed leaves its lock behind, and that is what stands in the way.
            if os.path.lexists(repository.index_lock):
                raise _locked(repository)
            raise GitFailed("update-index", reason(result.err))
        if time.monotonic() >= deadline:
            raise _locked(repository)
        time.sleep(_PAUSE)


def _locked(repository: Repository) -> NotRecorded:
    return NotRecorded(
        "busy",
        "another git process is at work there; if none is, remove "
        f"{shlex.quote(repository.index_lock)} and stop again",
    )
