"""Copy one transcript of a tool into the archive, and redact known secrets in the copy."""

from __future__ import annotations

import os
from functools import partial

from cortext import paths
from cortext.durability.durable_files import remove_if_there
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState, CopyUpdate, follow, stat_fingerprint
from cortext.errors import CortextError
from cortext.features.archive.archive_copy_states import folder_of, temp_dir
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    update_redacted_copy,
    write_redacted,
)
from cortext.features.secrets.redactor import Redactor, redact_line, redact_lines
from cortext.tools.archive_items import ArchiveItem, archive_source, copy_companion, warm


class Copier:
    """Copies the transcripts of one tool into the archive.

    A secret that was redacted in a copy is redacted again each time the copy is updated.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._redactions: ArchiveRedactions | None = None
        if os.path.exists(os.path.join(paths.archive(), ".masked")):
            self._redactions = ArchiveRedactions(tool)

    def copy(self, item: ArchiveItem, known: CopyState | None) -> CopyUpdate:
        """Update the archive's copy of a transcript, and return a description of the change.

        `known` is the saved state of the copy, or None. Raises OSError if the transcript cannot be
        read, SessionStorageError if the copy cannot be written, and CortextError if the copy would
        contain a secret that the user has redacted.
        """
        bare = os.path.join(folder_of(self._tool), item.name)
        if item.kind == "side":
            return self._copy_companion(item, bare, known)
        target = bare + SUFFIX
        mask = self._find_redactor(item.name, target)
        if item.kind == "rows":
            return self._copy_rows(item, target, known, mask)
        if item.kind == "cold":
            return self._copy_compressed(item, bare, known, mask)
        if mask:
            return self._copy_redacted(item, item.path, target, known, mask)
        document = item.kind == "document"
        return follow(item.path, target, known, temp_dir=temp_dir(), document=document)

    def move(self, old: str, new: str) -> None:
        """Move the saved redactions of a copy from its name `old` to its name `new`.

        The caller must have renamed the copy.
        """
        if self._redactions:
            self._redactions.move(old, new)
            self._redactions.save()

    def _find_redactor(self, name: str, target: str) -> Redactor | None:
        return (
            self._redactions.of(name, is_new=not os.path.exists(target))
            if self._redactions
            else None
        )

    def _copy_companion(
        self, item: ArchiveItem, target: str, known: CopyState | None
    ) -> CopyUpdate:
        mask = self._redactions.of_all() if self._redactions else None
        if mask is None:
            return copy_companion(self._tool, item, target, known, temp_dir=temp_dir())
        change = partial(redact_lines, mask=mask)
        return copy_companion(self._tool, item, target, known, temp_dir=temp_dir(), change=change)

    def _copy_rows(
        self, item: ArchiveItem, target: str, known: CopyState | None, mask: Redactor | None
    ) -> CopyUpdate:
        source = archive_source(self._tool)
        if mask is None:
            return source.copy_rows(item, target, known, temp_dir=temp_dir(), change=None)
        change = partial(redact_line, mask=mask)
        done = source.copy_rows(item, target, known, temp_dir=temp_dir(), change=change)
        self._save_redactions(item, mask)
        return done

    def _copy_compressed(
        self, item: ArchiveItem, bare: str, known: CopyState | None, mask: Redactor | None
    ) -> CopyUpdate:
        """Update the copy of a transcript that the tool itself has compressed.

        `bare` is the path of the copy without its suffix. `known` is the saved state of the copy,
        and `mask` is the redactor of the copy. Both can be None.
        """
        fingerprint = stat_fingerprint(os.stat(item.path))
        if known and known.print == fingerprint and os.path.exists(bare + SUFFIX):
            return CopyUpdate(known)
        plain = warm(item, temp_dir())
        if not plain:
            if mask:
                raise CortextError(
                    "zstd is not installed, so secrets in this transcript cannot be redacted again"
                )
            return copy_companion(self._tool, item, f"{bare}.zst", known, temp_dir=temp_dir())
        try:
            if mask:
                done = self._copy_redacted(item, plain, bare + SUFFIX, known, mask)
            else:
                done = follow(plain, bare + SUFFIX, known, temp_dir=temp_dir())
        finally:
            remove_if_there(plain)
        return done._replace(known=done.known._replace(print=fingerprint))

    def _copy_redacted(
        self, item: ArchiveItem, source: str, target: str, known: CopyState | None, mask: Redactor
    ) -> CopyUpdate:
        """Update a copy that has redactions, from a redacted version of the transcript.

        `source` is the transcript, `target` is the copy, and `mask` is the redactor. `known` is the
        saved state of the copy, or None.
        """
        fingerprint = stat_fingerprint(os.stat(source))
        size = os.stat(target).st_size if os.path.exists(target) else 0
        if known and known.print == fingerprint and known.packed == size:
            return CopyUpdate(known)
        plain = write_redacted(source, item.name, mask)
        try:
            # Save the redactions first: after a crash, every redacted copy must be known.
            self._save_redactions(item, mask)
            # If the copy has its saved size, comparing its end is enough.
            if size and (not known or known.packed != size or not mask.is_partial):
                known = update_redacted_copy(target, plain, item.name) or known
            document = item.kind == "document"
            done = follow(plain, target, known, temp_dir=temp_dir(), document=document)
        finally:
            remove_if_there(plain)
        return done._replace(
            known=done.known._replace(print=fingerprint if done.known.print else "")
        )

    def _save_redactions(self, item: ArchiveItem, mask: Redactor) -> None:
        """Save which secrets were redacted in a copy. The next update of the copy needs them."""
        if self._redactions and mask.used:
            self._redactions.put(item.name, mask.used)
            self._redactions.save()
