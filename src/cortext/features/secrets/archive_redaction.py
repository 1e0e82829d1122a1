"""Redact secrets in the archive, which has compressed copies of the tools' transcripts.

A copy with a secret is written again completely. From then on, each sync (which copies new text
from the tools) redacts the same secrets; see `redaction_record`. A row stands for one conversation
or session in a list.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import collect_errors, make_private_dir, replace
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState
from cortext.errors import CortextError
from cortext.features.archive.archive_copy_states import Memory, folder_of, temp_dir
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.secrets.conversation_redaction import RedactResult, refuse_live
from cortext.features.secrets.leftover_temp_files import archive_temp_folders, sweep
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    archive_name,
    find_fingerprints,
    pack_members,
    summarize_copy,
)
from cortext.features.secrets.redactor import Redactor, redact_file_bytes
from cortext.features.secrets.secret_scan import ARCHIVE, Finding, scan_one
from cortext.features.secrets.text_pieces import Unread, content
from cortext.features.secrets.tool_session_files import SessionFiles, sessions_of
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import own_home

_ZSTD_SUFFIX = ".zst"


def redact_copies(
    row: ConversationRow,
    findings: Sequence[Finding] | None = None,
    unclaimed: Collection[str] = (),
) -> RedactResult:
    """Redact the secrets in the archive's copies of a conversation's tool sessions.

    If `findings` is given, redact only these secrets. Files that have no copy yet are redacted when
    a sync copies them. If `row` comes from `archive_row`, redact the copies that belong to no
    session: `unclaimed` has their paths. If a copy cannot be redacted, the error is in the result,
    and the other copies are still redacted.
    """
    refuse_live(row)
    found = list(findings) if findings is not None else scan_one(row)
    wanted = {one.secret for one in found}
    redaction = _ArchiveRedaction(wanted, found)
    with archive_lock(10.0):
        make_private_dir(temp_dir())
        for tool, id in sessions_of(row):
            with collect_errors(
                redaction.failures, "redact", f"copies of {id} in {folder_of(tool)}"
            ):
                redaction.redact_session(tool, id)
        for tool in tool_names() if row.tool == ARCHIVE else ():
            with collect_errors(redaction.failures, "redact", f"the copies in {folder_of(tool)}"):
                redaction.redact_others(tool, unclaimed)
    notes: list[str] = []
    with collect_errors(redaction.failures, "remove temp files below", paths.archive()):
        in_use = sweep(archive_temp_folders())
        notes += [f"{path} is still being written; redact it again afterwards" for path in in_use]
    return RedactResult(
        redaction.pieces,
        frozenset(redaction.redacted),
        redaction.files,
        [*redaction.unread, *notes],
        redaction.failures,
    )


def is_archive_redacted(row: ConversationRow, found: Sequence[Finding]) -> bool:
    """Return whether the archive redacts all secrets in `found`, now and in every later sync.

    A sync copies the tools' own files into the archive. `found` are the secrets in these files of
    one conversation.
    """
    files, redactors = SessionFiles(), list[Redactor]()
    for tool, id in sessions_of(row):
        known = ArchiveRedactions(tool)
        of_names = [known.of(name, is_new=False) for name in _archive_names(files, tool, id)]
        redactors += [mask for mask in of_names if mask is not None]
    return all(any(mask(one.family, one.secret) for mask in redactors) for one in found)


class _ArchiveRedaction:
    """Redacts secrets in several copies of the archive, and collects the results.

    `wanted` are the secrets as texts. `found` are the same secrets as findings. `pieces` counts the
    places in which a secret was redacted, and `redacted` has the fingerprints of these secrets.
    """

    def __init__(self, wanted: Collection[str], found: Sequence[Finding]) -> None:
        self._redactor = Redactor(wanted)
        for one in found:
            self._redactor(one.family, one.secret)
        self._fingerprints = frozenset(self._redactor.used)
        self._places = Counter(one.path for one in found)
        self._files = SessionFiles()
        self.pieces, self.files = 0, list[str]()
        self.redacted = set[str]()
        self.unread: Unread = []
        self.failures: list[CortextError] = []

    def redact_session(self, tool: str, id: str) -> None:
        """Redact all archive copies of a session.

        The record of redactions is saved first. It also names the files of the session that have no
        copy yet. Therefore, if this process is killed, the next sync redacts the copies.
        """
        copies = [path for path in self._files.copies(tool, id) if not os.path.islink(path)]
        self._redact(tool, copies, _archive_names(self._files, tool, id))

    def redact_others(self, tool: str, paths: Collection[str]) -> None:
        """Redact the archive copies of a tool that belong to no listed session.

        `paths` are the paths of such copies. Copies of other tools in `paths` are skipped.
        """
        own = [path for path in paths if path.startswith(f"{folder_of(tool)}/")]
        self._redact(tool, own, [])

    def _redact(self, tool: str, copies: Sequence[str], names: Sequence[str]) -> None:
        redactions, memory = ArchiveRedactions(tool), Memory(tool)
        for name in names:
            redactions.add(name, self._fingerprints)
        readable: list[str] = []
        for path in copies:
            with collect_errors(self.failures, "redact", path):
                if not _is_old_version(path):
                    before = find_fingerprints(content(path, []))
                    redactions.add(archive_name(path, folder_of(tool)), self._fingerprints | before)
                readable.append(path)
        redactions.save()
        for path in readable:
            with collect_errors(self.failures, "redact", path):
                self._redact_copy(tool, path, memory)
        memory.save()

    def _redact_copy(self, tool: str, path: str, memory: Memory) -> None:
        data = content(path, self.unread)
        new = redact_file_bytes(path, data, self._redactor)
        packed, found = path.endswith(SUFFIX), os.stat(path)
        if new != data and path.endswith(_ZSTD_SUFFIX):
            text = "still contains the secret; the tool compressed the file, so remove it yourself"
            self.unread.append(f"{path} {text}")
            return
        parts = [*pack_members(new)] if packed and new != data else [new]
        if packed and not _is_old_version(path):
            size = found.st_size if new == data else sum(map(len, parts))
            self._save_state(archive_name(path, folder_of(tool)), new, found.st_size, size, memory)
        if new == data:
            return
        replace(path, parts, temp_dir=temp_dir())
        os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
        self.files.append(path)
        after = find_fingerprints(new)
        redacted = (after - find_fingerprints(data)) or (after & self._fingerprints)
        self.redacted |= redacted
        self.pieces += self._places[path] or len(redacted) or 1

    def _save_state(self, name: str, new: bytes, before: int, size: int, memory: Memory) -> None:
        """Save the new state of a copy before the copy is written.

        `name` and `new` are the name and the new contents of the copy. `before` and `size` are its
        old and new compressed sizes. If a copy does not match its saved state, the next sync
        compares it with the tool's file again.
        """
        known = memory.copies.get(name) or CopyState()
        fingerprint = known.print if known.packed == before else ""
        memory.put(name, summarize_copy(new)._replace(print=fingerprint, packed=size))
        memory.save()


def _archive_names(files: SessionFiles, tool: str, id: str) -> list[str]:
    """Return the names of the archive copies of a tool session.

    A name is a path relative to the tool's folder in the archive. A tool with a database has one
    copy for each session. Other tools have one copy for each file of the session. Files that are
    not copied yet are included.
    """
    if name := archive_source(tool).copy_name(id):
        return [name]
    return [archive_name(path, own_home(tool)) for path in files.own(tool, id)]


def _is_old_version(path: str) -> bool:
    """Return whether an archive copy is a numbered old version, which never changes any more."""
    return ".~" in os.path.basename(path)
