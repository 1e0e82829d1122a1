"""Read a conversation's entries in git's index, and write index entries in one step."""

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
"""The seconds to wait while another git process locks the index."""
_PAUSE = 0.02


class StagedFiles(NamedTuple):
    """The index entries of a folder.

    `entries` has the entries of the paths that the caller named. `skipped` has the named paths that
    git does not compare with the disk: "assume unchanged" or sparse files. `others` has all other
    paths in the folder.
    """

    entries: dict[str, TreeEntry]
    skipped: set[str]
    others: set[str]


def wait_for_index(repository: Repository) -> None:
    """Wait until no process locks git's index. Raises NotRecorded if the lock remains."""
    deadline = time.monotonic() + WAIT
    while os.path.lexists(repository.index_lock):
        if time.monotonic() >= deadline:
            raise _locked(repository)
        time.sleep(_PAUSE)


def read_index(repository: Repository, folder: str, paths: Collection[str]) -> StagedFiles:
    """Return the index entries of a folder, separated into the named `paths` and others.

    Raises NotRecorded with the outcome "busy" if one of the named paths has a merge conflict.
    """
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
        # A lower-case tag means "assume unchanged", and S means "skip the work tree".
        if tag.islower() or tag == "S":
            index.skipped.add(path)
    return index


def write_index(repository: Repository, files: Mapping[str, TreeEntry | None]) -> None:
    """Set the index entries of these paths, and remove the paths whose entry is None.

    No other entry changes. Raises NotRecorded if another process keeps the index locked.
    """
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
            # A killed git process leaves its lock file, which may be the cause.
            if os.path.lexists(repository.index_lock):
                raise _locked(repository)
            raise GitFailed("update-index", reason(result.err))
        if time.monotonic() >= deadline:
            raise _locked(repository)
        time.sleep(_PAUSE)


def _locked(repository: Repository) -> NotRecorded:
    """Return the error to raise if another process keeps the index locked."""
    return NotRecorded(
        "busy",
        "another git process is at work there; if none is, remove "
        f"{shlex.quote(repository.index_lock)} and stop again",
    )
