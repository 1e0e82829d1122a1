"""Redact the texts of the search index in the same way as the copies in the archive.

The index is built from the tool's own file, which still contains the secrets.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, cast

from cortext import paths
from cortext.durability.gzip_members import SUFFIX
from cortext.features.secrets.redact_value import Redactor, redact_json
from cortext.features.secrets.redaction_record import ArchiveRedactions, archive_name
from cortext.model import record_dicts
from cortext.model.message import SessionMessage, message_from_dict
from cortext.model.secrets.detector import mask_text
from cortext.tools.archive_items import archive_source
from cortext.tools.transcript_folders import archive_home, home_of, own_home


def find_redactor(tool: str, id: str, path: str) -> Redactor | None:
    """Return a redactor for the texts of a tool session; None if there is nothing to redact.

    `path` is the transcript. The redactor covers every secret that was redacted in the archive's
    copies of that tool. Return None if this session has a copy without redactions. Raises
    CortextError if the redaction key is damaged.
    """
    try:
        found = os.stat(os.path.join(paths.archive(), ".masked"))
    except OSError:
        return None
    stamp = found.st_ino, found.st_size, found.st_mtime_ns
    masks = _masks(tool, paths.archive(), stamp)
    home = home_of(tool, path) or own_home(tool)
    name = archive_source(tool).copy_name(id) or archive_name(path, home)
    is_new = not os.path.exists(os.path.join(archive_home(tool), name + SUFFIX))
    return masks.of_all() if is_new or masks.has(name) else None


def redact_message(message: SessionMessage, mask: Redactor) -> SessionMessage:
    """Return a message with the secrets of `mask` redacted, as in its copy in the archive."""
    told = cast("dict[str, Any]", redact_json(record_dicts.message_to_dict(message), mask))
    return message_from_dict(told)


def redact_indexed_text(text: str, mask: Redactor | None) -> str:
    """Return a text with the secrets of `mask` redacted; unchanged if `mask` is None."""
    if mask is None:
        return text
    return mask_text(text, mask)[0]


@lru_cache(maxsize=8)
def _masks(tool: str, _archive: str, _stamp: tuple[int, int, int]) -> ArchiveRedactions:
    """Return the redactions of a tool, cached for all its sessions.

    `_archive` and `_stamp` only identify the version of the file.
    """
    return ArchiveRedactions(tool)
