"""Ids of sessions and records. A session's id is also a file name, so few characters are valid."""

from __future__ import annotations

import re
import unicodedata
import uuid

from cortext.errors import InvalidIdError

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_RECORD_NAMESPACE = uuid.UUID("5d3c3c62-6a5c-4d0e-9d8e-3c6f7c0a7a10")


def new_id() -> str:
    return str(uuid.uuid4())


def derived_id(*parts: str) -> str:
    """Return an id for a record that was stored without an id.

    `parts` are fields of the record. The same parts always give the same id.
    """
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass").decode("latin-1")
    return str(uuid.uuid5(_RECORD_NAMESPACE, text))


def check_id(id: str) -> str:
    """Return `id` if it is a valid session id. Otherwise raise InvalidIdError."""
    if type(id) is str and _PLAIN.fullmatch(id):
        return id
    raise InvalidIdError(id)


def check_workspace_id(id: str) -> str:
    """Return `id` if it is a valid id of a conversation in a workspace.

    A valid id is a name, or `YYYY-MM-DD/NAME`, because conversations of different days can have the
    same name. The name may contain letters of any script. Raises InvalidIdError for other ids.
    """
    if type(id) is not str:
        raise InvalidIdError(id)
    day, slash, name = id.partition("/")
    if slash and not _DAY.fullmatch(day):
        raise InvalidIdError(id)
    name = name if slash else day
    if not (0 < len(name) <= 128 and name[0].isalnum() and _fits_a_file_name(name)):
        raise InvalidIdError(id)
    return id


def _fits_a_file_name(name: str) -> bool:
    if not all(c.isalnum() or c in "._-" or unicodedata.category(c)[0] == "M" for c in name):
        return False
    return len(name.encode("utf-8", "replace")) <= 220
