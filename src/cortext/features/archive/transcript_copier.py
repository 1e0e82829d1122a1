"""Copy one transcript of a tool into the archive, with its redactions."""

from __future__ import annotations

import os
from functools import partial

from cortext import paths
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState, Followed, follow, print_of
from cortext.durability.replace_file import remove_if_there
from cortext.errors import CortextError
from cortext.features.archive.archive_copies import folder_of, temp_dir
from cortext.features.secrets.redact_value import Redactor, redact_line, redact_lines
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    update_redacted_copy,
    write_redacted,
)
from cortext.tools.archive_items import ArchiveItem, archive_source, copy_companion, warm


class Copier:
    """A copier for the transcripts of one tool.

    Secrets that are redacted in a copy stay redacted.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._masks: ArchiveRedactions | None = None
        if os.path.exists(os.path.join(paths.archive(), ".masked")):
            self._masks = ArchiveRedactions(tool)

    def copy(self, item: ArchiveItem, known: CopyState | None) -> Followed:
        """Bring the archive's copy of a transcript up to date, and return what changed.

        `known` is the saved state of the copy, or None. Raises OSError if the transcript cannot be
        read, SessionStorageError if the copy cannot be written, and CortextError if a redacted
        secret would come back.
        """
        bare = os.path.join(folder_of(self._tool), item.name)
        if item.kind == "side":
            return self._side(item, bare, known)
        target = bare + SUFFIX
        mask = self._mask(item.name, target)
        if item.kind == "rows":
            return self._rows(item, target, known, mask)
        if item.kind == "cold":
            return self._cold(item, bare, known, mask)
        if mask:
            return self._masked(item, item.path, target, known, mask)
        document = item.kind == "document"
        return follow(item.path, target, known, temp_dir=temp_dir(), document=document)

    def move(self, old: str, new: str) -> None:
        """Record the redactions of a copy under its new name, after the copy was renamed."""
        if self._masks:
            self._masks.move(old, new)
            self._masks.save()

    def _mask(self, name: str, target: str) -> Redactor | None:
        return self._masks.of(name, is_new=not os.path.exists(target)) if self._masks else None

    def _side(self, item: ArchiveItem, target: str, known: CopyState | None) -> Followed:
        mask = self._masks.of_all() if self._masks else None
        if mask is None:
            return copy_companion(self._tool, item, target, known, temp_dir=temp_dir())
        change = partial(redact_lines, mask=mask)
        return copy_companion(self._tool, item, target, known, temp_dir=temp_dir(), change=change)

    def _rows(
        self, item: ArchiveItem, target: str, known: CopyState | None, mask: Redactor | None
    ) -> Followed:
        source = archive_source(self._tool)
        if mask is None:
            return source.copy_rows(item, target, known, temp_dir=temp_dir(), change=None)
        change = partial(redact_line, mask=mask)
        done = source.copy_rows(item, target, known, temp_dir=temp_dir(), change=change)
        self._remember(item, mask)
        return done

    def _cold(
        self, item: ArchiveItem, bare: str, known: CopyState | None, mask: Redactor | None
    ) -> Followed:
        """Continue the copy of a transcript that the tool has compressed since."""
        mark = print_of(os.stat(item.path))
        if known and known.print == mark and os.path.exists(bare + SUFFIX):
            return Followed(known)
        plain = warm(item, temp_dir())
        if not plain:
            if mask:
                raise CortextError("zstd is missing, and without it nothing can be masked again")
            return copy_companion(self._tool, item, f"{bare}.zst", known, temp_dir=temp_dir())
        try:
            if mask:
                done = self._masked(item, plain, bare + SUFFIX, known, mask)
            else:
                done = follow(plain, bare + SUFFIX, known, temp_dir=temp_dir())
        finally:
            remove_if_there(plain)
        return done._replace(known=done.known._replace(print=mark))

    def _masked(
        self, item: ArchiveItem, source: str, target: str, known: CopyState | None, mask: Redactor
    ) -> Followed:
        """Bring a copy with redactions up to date: copy the redacted version of the transcript."""
        mark = print_of(os.stat(source))
        size = os.stat(target).st_size if os.path.exists(target) else 0
        if known and known.print == mark and known.packed == size:
            return Followed(known)
        plain = write_redacted(source, item.name, mask)
        try:
            # Save the redactions first: after a crash, every redacted copy must be known.
            self._remember(item, mask)
            # If the copy has its saved size, comparing its end is enough.
            if size and (not known or known.packed != size or not mask.is_partial):
                known = update_redacted_copy(target, plain, item.name) or known
            document = item.kind == "document"
            done = follow(plain, target, known, temp_dir=temp_dir(), document=document)
        finally:
            remove_if_there(plain)
        return done._replace(known=done.known._replace(print=mark if done.known.print else ""))

    def _remember(self, item: ArchiveItem, mask: Redactor) -> None:
        """Save which secrets were redacted in a copy, so that the next sync redacts them too."""
        if self._masks and mask.used:
            self._masks.put(item.name, mask.used)
            self._masks.save()
