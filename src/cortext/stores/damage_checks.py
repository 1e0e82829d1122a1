"""Checks and error reports for damaged session files, shared by all stores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cortext.durability.durable_files import storage_errors
from cortext.durability.read_files import read_file_and_stat
from cortext.errors import NewerVersionError, SessionCorruptedError, SessionNotFoundError
from cortext.formats.message_lines import Damage
from cortext.model.session_head_codec import VERSION, newer_version

UNCHANGED_HINT = "the file was not changed; `cortext show` and `read` return everything readable"
WORKSPACE_HINT = (
    "the file was not changed; `cortext show` shows everything readable, and "
    "`cortext doctor --fix` repairs it"
)


def read_session_file(id: str, path: str) -> tuple[bytes, os.stat_result]:
    """Return the content of the file at `path`, and the `stat` result of the file.

    The file belongs to the session `id`. SessionNotFoundError is raised if the file does not exist,
    and SessionCorruptedError if it is not a regular file, for example a folder. SessionStorageError
    is raised if reading fails.
    """
    with storage_errors("read", path):
        try:
            return read_file_and_stat(path)
        except FileNotFoundError:
            raise SessionNotFoundError(id, path=path) from None
        except IsADirectoryError:
            raise SessionCorruptedError(
                path, "is not a regular file", hint="move it away; cortext did not change it"
            ) from None


def raise_if_damaged(damages: Sequence[Damage], hint: str = UNCHANGED_HINT) -> None:
    """Raise SessionCorruptedError if a damage is fatal, which means that data was lost.

    Otherwise log a warning for each damage. `hint` becomes the hint of the error.
    """
    refuse_damage(damages, hint)
    for damage in damages:
        log_damage(damage)


def log_damage(damage: Damage) -> None:
    import logging

    where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
    logging.getLogger("cortext.stores").warning("%s: %s", where, damage.detail)


def refuse_damage(damages: Sequence[Damage], hint: str = UNCHANGED_HINT) -> None:
    """Raise SessionCorruptedError if a damage is fatal, which means that data was lost.

    `hint` becomes the hint of the error. Damage that is not fatal is ignored.
    """
    for damage in damages:
        if damage.fatal:
            raise SessionCorruptedError(damage.path, damage.detail, line=damage.line, hint=hint)


def refuse_newer(head: Mapping[str, Any], path: str) -> None:
    version = newer_version(head)
    if version is not None:
        raise NewerVersionError(path, found=version, known=VERSION)


def name_mismatch(found: str, id: str) -> list[Damage]:
    """Return a damage that is not fatal if a file contains another id than its name.

    `found` is the id in the content of the file, and `id` is the id in the file's name. They differ
    if someone copied or renamed the file. The result is an empty list if both ids are equal, or if
    `found` is "".
    """
    if found in (id, ""):
        return []
    return [
        Damage(f"the id in the file is {found!r:.80}, but it is read as {id!r:.80}", fatal=False)
    ]


def at(path: str, damages: Sequence[Damage]) -> list[Damage]:
    return [damage._replace(path=path) for damage in damages]
