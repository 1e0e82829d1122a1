"""Keeping what was masked in the archive out of the search index as well: the tool has it still,
and the index is made of the tool's own file."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from cortext import paths
from cortext.durability.gzip_members import SUFFIX
from cortext.model import record_dicts
from cortext.model.message import SessionMessage, message_from_dict
from cortext.tools.scan import archive_home, home_of, own_home

if TYPE_CHECKING:
    from cortext.features.secrets.archive_redactions import ArchiveRedactions
    from cortext.features.secrets.redact_value import Redactor


def find_redactor(tool: str, id: str, path: str) -> Redactor | None:
    """What stays masked of a tool's session, given its transcript: all that was masked in copies
    of that tool, if it was in the copy of this one, or this one has no copy yet. None if nothing
    does. CortextError where the key is damaged."""
    # Most people never masked anything: they need not wait for what looks for secrets.
    try:
        found = os.stat(os.path.join(paths.archive(), ".masked"))
    except OSError:
        return None
    from cortext.features.secrets.archive_redactions import archive_name
    from cortext.tools.archive_items import archive_source

    stamp = found.st_ino, found.st_size, found.st_mtime_ns
    masks = _masks(tool, paths.archive(), stamp)
    home = home_of(tool, path) or own_home(tool)
    name = archive_source(tool).copy_name(id) or archive_name(path, home)
    is_new = not os.path.exists(os.path.join(archive_home(tool), name + SUFFIX))
    return masks.of_all() if is_new or masks.has(name) else None


def redact_message(message: SessionMessage, mask: Redactor) -> SessionMessage:
    """A message as its copy in the archive has it."""
    from cortext.features.secrets.redact_value import redact_json

    told = cast("dict[str, Any]", redact_json(record_dicts.message_to_dict(message), mask))
    return message_from_dict(told)


def redact_indexed_text(text: str, mask: Redactor | None) -> str:
    """The same for a text."""
    if mask is None:
        return text
    from cortext.model.secrets.detector import mask_text

    return mask_text(text, mask)[0]


@lru_cache(maxsize=8)
def _masks(tool: str, _archive: str, _stamp: tuple[int, int, int]) -> ArchiveRedactions:
    """Read once for all sessions."""
    from cortext.features.secrets.archive_redactions import ArchiveRedactions

    return ArchiveRedactions(tool)
