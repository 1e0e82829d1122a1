"""The sessions that the archive copies from OpenCode. Each copy is a log of the session's rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortext.durability.durable_files import storage_errors
from cortext.durability.gzip_members import MOST
from cortext.durability.incremental_copy import (
    CopyState,
    CopyUpdate,
    TailBuffer,
    extend,
    verified_copy_state,
)
from cortext.errors import SessionCorruptedError
from cortext.tools.archive_items import ArchiveItem, ArchiveSource, Change, Failures
from cortext.tools.opencode.archived_session_log import blocks, digests, new_lines
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.opencode.redacting_store import RedactedOrigin
from cortext.tools.opencode.storage import (
    FoundSession,
    OpenCodeDatabase,
    Origin,
    Tree,
    explain_refusal,
    read_database,
    trees,
)


class OpenCodeArchive(ArchiveSource):
    """The sessions that the archive copies from OpenCode.

    They come from OpenCode's databases, and from the JSON files of older releases.
    """

    def items(self, failures: Failures) -> Iterator[ArchiveItem]:
        if not os.path.isdir(self.home) and not self.tool.named_database:
            return
        bridge, seen = OpenCodeBridge(), set[str]()
        found: list[tuple[str, FoundSession]] = []
        for path in bridge.databases():
            try:
                found += (
                    (path, session) for session in read_database(path, OpenCodeDatabase.families)
                )
            except (OSError, SessionCorruptedError) as error:
                failures[path] = explain_refusal(error)
        for tree in trees(bridge.home):
            try:
                found += () if tree.is_side else [(tree.path, tree.found)]
            except (OSError, SessionCorruptedError) as error:
                failures[tree.path] = explain_refusal(error)
        for path, session in found:
            if session.id not in seen and _is_name(session.id):
                seen.add(session.id)
                yield ArchiveItem(
                    path, self.copy_name(session.id), "rows", session.id, session.print
                )

    def copy_name(self, session_id: str) -> str:
        return f"sessions/{session_id}.jsonl"

    def copy_rows(
        self,
        item: ArchiveItem,
        target: str,
        known: CopyState | None,
        *,
        temp_dir: str,
        change: Change | None,
    ) -> CopyUpdate:
        """Add the new and changed rows of a session to its copy, the file `target`.

        Every row is compared with the copy, because some changes do not update the modification
        time of a row. The parameters are those of `ArchiveSource.copy_rows`.
        """

        def copy(origin: Origin) -> CopyUpdate:
            store = RedactedOrigin(origin, change) if change else origin
            with storage_errors("archive into", target):
                base, tail = verified_copy_state(target, known), TailBuffer()
                failures: list[str] = []
                lines = new_lines(store, item.id, digests(target) if base.packed else {}, failures)
                new = extend(target, base, tail.watch(blocks(lines, MOST)), temp_dir=temp_dir)
            if failures:
                why = f"{item.id} was copied only in part: {failures[0]}"
                raise SessionCorruptedError(item.path, why)
            new = new._replace(print=item.print, length=base.length + tail.seen)
            outcome = "grown" if base.packed else "new"
            return CopyUpdate(new, outcome if tail.seen else "", tail.seen)

        if known and known.print == item.print and os.path.exists(target):
            return CopyUpdate(known)
        if item.path.endswith(".json"):
            return copy(Tree(item.path))
        return read_database(item.path, copy)

    def read_rows(self, path: str, session_id: str) -> list[bytes]:
        """Return the rows of a session in the store at `path`, each as a line of an archived copy.

        Raises FileNotFoundError if the session no longer exists. Raises SessionCorruptedError if a
        part of the session cannot be read.
        """

        def read(store: Origin) -> list[bytes]:
            failures: list[str] = []
            lines = [*new_lines(store, session_id, {}, failures)]
            if failures:
                why = f"{session_id} was read only in part: {failures[0]}"
                raise SessionCorruptedError(path, why)
            return lines

        return read(Tree(path)) if path.endswith(".json") else read_database(path, read)


def _is_name(id: str) -> bool:
    """Return whether a session's id can be used as a file name."""
    return bool(re.fullmatch(r"[A-Za-z0-9_-]{1,200}", id))
