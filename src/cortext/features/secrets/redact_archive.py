"""Redact secrets in the archive, which has compressed copies of the tools' transcripts.

A copy with a secret is written again as a whole. From then on, a sync redacts the same secrets; see
`archive_redactions`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState
from cortext.durability.replace_file import collect_errors, make_private_dir, replace
from cortext.errors import CortextError
from cortext.features.archive.archive_copies import Memory, folder_of, temp_dir
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.secrets.file_readers import Unread, content
from cortext.features.secrets.leftover_temp_files import archive_temp_folders, sweep
from cortext.features.secrets.redact import RedactResult, refuse_live
from cortext.features.secrets.redact_value import Redactor, redact_file_bytes
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    archive_name,
    find_fingerprints,
    pack_members,
    summarize_copy,
)
from cortext.features.secrets.scan import ARCHIVE, Finding, scan_one
from cortext.features.secrets.tool_files import SessionFiles, sessions_of
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import own_home

_COLD = ".zst"


def redact_copies(
    row: ConversationRow,
    findings: Sequence[Finding] | None = None,
    unclaimed: Collection[str] = (),
) -> RedactResult:
    """Redact the secrets in the archive's copies of a conversation's tool sessions.

    With `findings`, only these secrets are redacted. Files that no sync has copied yet are redacted
    when they are copied. For the row of the archive itself, the copies at the paths `unclaimed`,
    which belong to no session, are redacted. A copy that fails is added to `failures`, and the
    others are still redacted.
    """
    refuse_live(row)
    found = list(findings) if findings is not None else scan_one(row)
    wanted = {one.secret for one in found}
    done = _Masking(wanted, found)
    with archive_lock(10.0):
        make_private_dir(temp_dir())
        for tool, id in sessions_of(row):
            with collect_errors(done.failures, "mask", f"the copies of {id} in {folder_of(tool)}"):
                done.session(tool, id)
        for tool in tool_names() if row.tool == ARCHIVE else ():
            with collect_errors(done.failures, "mask", f"the copies in {folder_of(tool)}"):
                done.others(tool, unclaimed)
    notes: list[str] = []
    with collect_errors(done.failures, "remove temp files below", paths.archive()):
        kept = sweep(archive_temp_folders())
        notes += [f"somebody is still writing {path}: redact it again then" for path in kept]
    return RedactResult(done.pieces, done.files, [*done.unread, *notes], done.failures)


def is_archive_redacted(row: ConversationRow, found: Sequence[Finding]) -> bool:
    """Return whether all found secrets are redacted in the archive's copies of a conversation.

    `found` are secrets in the tool's own files. If they are redacted, no sync brings them back.
    """
    files, masks = SessionFiles(), list[Redactor]()
    for tool, id in sessions_of(row):
        known = ArchiveRedactions(tool)
        of_names = [known.of(name, is_new=False) for name in _names(files, tool, id)]
        masks += [mask for mask in of_names if mask is not None]
    return all(any(mask(one.family, one.secret) for mask in masks) for one in found)


class _Masking:
    """The redaction of the `wanted` secrets in several copies of the archive, and its results."""

    def __init__(self, wanted: Collection[str], found: Sequence[Finding]) -> None:
        self._mask_secret = Redactor(wanted)
        for one in found:
            self._mask_secret(one.family, one.secret)
        self._prints = frozenset(self._mask_secret.used)
        self._files = SessionFiles()
        self.pieces, self.files = 0, list[str]()
        self.unread: Unread = []
        self.failures: list[CortextError] = []

    def session(self, tool: str, id: str) -> None:
        """Redact all copies of a session.

        The list of redactions is saved first, also for files without a copy. If this process is
        killed, the next sync redacts the copies.
        """
        copies = [path for path in self._files.copies(tool, id) if not os.path.islink(path)]
        self._mask(tool, copies, _names(self._files, tool, id))

    def others(self, tool: str, paths: Collection[str]) -> None:
        """Redact copies that belong to no listed session."""
        own = [path for path in paths if path.startswith(f"{folder_of(tool)}/")]
        self._mask(tool, own, [])

    def _mask(self, tool: str, copies: Sequence[str], names: Sequence[str]) -> None:
        masks, memory = ArchiveRedactions(tool), Memory(tool)
        for name in names:
            masks.add(name, self._prints)
        readable: list[str] = []
        for path in copies:
            with collect_errors(self.failures, "mask", path):
                if not _is_older(path):
                    before = find_fingerprints(content(path, []))
                    masks.add(archive_name(path, folder_of(tool)), self._prints | before)
                readable.append(path)
        masks.save()
        for path in readable:
            with collect_errors(self.failures, "mask", path):
                self._one(tool, path, memory)
        memory.save()

    def _one(self, tool: str, path: str, memory: Memory) -> None:
        data = content(path, self.unread)
        new = redact_file_bytes(path, data, self._mask_secret)
        packed, found = path.endswith(SUFFIX), os.stat(path)
        if new != data and path.endswith(_COLD):
            self.unread.append(f"{path} has it still, compressed by the tool: remove it")
            return
        parts = [*pack_members(new)] if packed and new != data else [new]
        if packed and not _is_older(path):
            size = found.st_size if new == data else sum(map(len, parts))
            self._note(archive_name(path, folder_of(tool)), new, found.st_size, size, memory)
        if new == data:
            return
        replace(path, parts, temp_dir=temp_dir())
        os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
        self.files.append(path)
        # Each secret of a file counts once, as it does among the findings.
        self.pieces += len(find_fingerprints(new) - find_fingerprints(data)) or 1

    def _note(self, name: str, new: bytes, before: int, size: int, memory: Memory) -> None:
        """Save the new state of a copy before the copy is written.

        `before` and `size` are the old and new compressed sizes. A sync compares a copy again if
        the copy does not match its saved state.
        """
        known = memory.copies.get(name) or CopyState()
        mark = known.print if known.packed == before else ""
        memory.put(name, summarize_copy(new)._replace(print=mark, packed=size))
        memory.save()


def _names(files: SessionFiles, tool: str, id: str) -> list[str]:
    """Return the archive names of the tool's own files of a session."""
    if name := archive_source(tool).copy_name(id):
        return [name]
    return [archive_name(path, own_home(tool)) for path in files.own(tool, id)]


def _is_older(path: str) -> bool:
    """Return whether a copy is a numbered old version, which no sync changes any more."""
    return ".~" in os.path.basename(path)
