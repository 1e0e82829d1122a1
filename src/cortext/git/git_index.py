"""Read a conversation's entries in git's index, and write index entries in one step."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Collection, Mapping

import msgspec

from cortext.git.commit_outcome import GitFailedError, NotRecordedError
from cortext.git.repository import Repository
from cortext.git.run_git import reason
from cortext.git.trees import TreeEntry

WAIT = 2.0
"""The number of seconds to wait while another git process locks the index."""
_RETRY_PAUSE = 0.02


class StagedFiles(msgspec.Struct, frozen=True):
    """The entries that git's index has for a folder.

    - `entries`: the entries of the paths that the caller asked for
    - `skipped`: the paths in `entries` that git does not compare with the disk, because they are
      marked "assume unchanged" or are not part of a sparse checkout
    - `others`: the paths of all other entries
    """

    entries: dict[str, TreeEntry]
    skipped: set[str]
    others: set[str]


def wait_for_index(repository: Repository) -> None:
    """Wait until no process locks git's index. Raises NotRecordedError if the lock remains."""
    deadline = time.monotonic() + WAIT
    while os.path.lexists(repository.index_lock):
        if time.monotonic() >= deadline:
            raise _lock_error(repository)
        time.sleep(_RETRY_PAUSE)


def read_index(repository: Repository, folder: str, paths: Collection[str]) -> StagedFiles:
    """Return the entries that git's index has for a folder.

    `paths` has the paths whose entries the caller needs. Raises NotRecordedError with the outcome
    "busy" if one of them has a merge conflict.
    """
    pathspecs = [folder] if folder else []
    out = repository.git.read("--literal-pathspecs", "ls-files", "-z", "-v", "-s", "--", *pathspecs)
    index = StagedFiles({}, set(), set())
    for row in os.fsdecode(out).split("\0")[:-1]:
        fields, _, path = row.partition("\t")
        if path not in paths:
            index.others.add(path)
            continue
        tag, mode, oid, stage = fields.split(" ")
        if stage != "0":
            raise NotRecordedError("busy", f"{path} has a conflict; resolve it, then stop again")
        index.entries[path] = TreeEntry(mode, oid)
        # A lower-case tag means "assume unchanged", and S means "skip the work tree".
        if tag.islower() or tag == "S":
            index.skipped.add(path)
    return index


def write_index(repository: Repository, files: Mapping[str, TreeEntry | None]) -> None:
    """Set the index entries of these paths, and remove the paths whose entry is None.

    No other entry changes. Raises NotRecordedError if another process keeps the index locked.
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
            # The cause may be a lock file that a killed git process left.
            if os.path.lexists(repository.index_lock):
                raise _lock_error(repository)
            raise GitFailedError("update-index", reason(result.err))
        if time.monotonic() >= deadline:
            raise _lock_error(repository)
        time.sleep(_RETRY_PAUSE)


def _lock_error(repository: Repository) -> NotRecordedError:
    """Return the error to raise if another process keeps the index locked."""
    return NotRecordedError(
        "busy",
        "another git process has locked the index; if no git process is running, remove "
        f"{shlex.quote(repository.index_lock)} and stop again",
    )
