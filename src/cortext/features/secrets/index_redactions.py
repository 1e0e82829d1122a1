"""Redact texts before they go into the search index.

The index is built from the tools' own files, which still contain secrets. If a secret is redacted
in the archive's copies, the index must not contain it either.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, cast

from cortext import paths
from cortext.durability.gzip_members import SUFFIX
from cortext.features.secrets.redaction_record import ArchiveRedactions, archive_name
from cortext.features.secrets.redactor import Redactor, redact_json
from cortext.model import message_dicts
from cortext.model.message import SessionMessage, message_from_dict
from cortext.model.secrets.detector import mask_text
from cortext.tools.archive_items import archive_source
from cortext.tools.transcript_folders import archive_home, home_of, own_home


def find_redactor(tool: str, id: str, path: str) -> Redactor | None:
    """Return a redactor for the texts of a tool session; None if there is nothing to redact.

    `path` is the path of the transcript. The redactor redacts every secret that was redacted in any
    archive copy of this tool. If the session has an archive copy without redactions, return None.
    Raises CortextError if the redaction key is damaged.
    """
    try:
        found = os.stat(os.path.join(paths.archive(), ".masked"))
    except OSError:
        return None
    stamp = found.st_ino, found.st_size, found.st_mtime_ns
    masks = _load_redactions(tool, paths.archive(), stamp)
    home = home_of(tool, path) or own_home(tool)
    name = archive_source(tool).copy_name(id) or archive_name(path, home)
    is_new = not os.path.exists(os.path.join(archive_home(tool), name + SUFFIX))
    return masks.of_all() if is_new or masks.has(name) else None


def redact_message(message: SessionMessage, mask: Redactor) -> SessionMessage:
    """Return a message with its secrets redacted in the same way as in the archive.

    `mask` decides which secrets are redacted.
    """
    redacted = cast("dict[str, Any]", redact_json(message_dicts.message_to_dict(message), mask))
    return message_from_dict(redacted)


def redact_indexed_text(text: str, mask: Redactor | None) -> str:
    """Return a text with its secrets redacted. `mask` decides which secrets are redacted.

    If `mask` is None, return the text unchanged.
    """
    if mask is None:
        return text
    return mask_text(text, mask)[0]


@lru_cache(maxsize=8)
def _load_redactions(tool: str, _archive: str, _stamp: tuple[int, int, int]) -> ArchiveRedactions:
    """Return the redactions of a tool.

    The result is cached for all sessions of the tool. `_archive` and `_stamp` identify a version of
    the stored redactions, so that a new version is read again.
    """
    return ArchiveRedactions(tool)
