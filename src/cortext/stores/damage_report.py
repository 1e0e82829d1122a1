"""Checks and error reports for damaged session files, shared by all stores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cortext.durability.read_files import read_file_and_stat
from cortext.durability.replace_file import storage_errors
from cortext.errors import NewerVersionError, SessionCorruptedError, SessionNotFoundError
from cortext.formats.record_lines import Damage
from cortext.model.session_head import VERSION, newer_version

LEFT_ALONE = "the file is as it was; `cortext show` and `read` give everything else that it holds"
IN_A_WORKSPACE = (
    "the file is as it was: `cortext show` has what else there is, `cortext doctor --fix` mends it"
)


def read_session_file(id: str, path: str) -> tuple[bytes, os.stat_result]:
    """Return the content and the `stat` result of the file of session `id`.

    SessionNotFoundError is raised if there is no file at `path`. SessionCorruptedError is raised if
    it is not a regular file, and SessionStorageError if reading fails.
    """
    with storage_errors("read", path):
        try:
            return read_file_and_stat(path)
        except FileNotFoundError:
            raise SessionNotFoundError(id, path=path) from None
        except IsADirectoryError:
            raise SessionCorruptedError(
                path, "is not a regular file", hint="move it away; it was not touched"
            ) from None


def raise_if_damaged(damages: Sequence[Damage], hint: str = LEFT_ALONE) -> None:
    """Raise SessionCorruptedError for the first fatal damage, which is damage that lost data.

    If no damage is fatal, log each one as a warning. `hint` is the hint of the error.
    """
    refuse_damage(damages, hint)
    for damage in damages:
        warn_of(damage)


def warn_of(damage: Damage) -> None:
    import logging

    where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
    logging.getLogger("cortext.stores").warning("%s: %s", where, damage.detail)


def refuse_damage(damages: Sequence[Damage], hint: str = LEFT_ALONE) -> None:
    """Raise SessionCorruptedError for the first fatal damage, which is damage that lost data.

    `hint` is the hint of the error. Other damage is ignored.
    """
    for damage in damages:
        if damage.fatal:
            raise SessionCorruptedError(damage.path, damage.detail, line=damage.line, hint=hint)


def refuse_newer(head: Mapping[str, Any], path: str) -> None:
    found = newer_version(head)
    if found is not None:
        raise NewerVersionError(path, found=found, known=VERSION)


def name_mismatch(found: str, id: str) -> list[Damage]:
    """Return a non-fatal damage if the id `found` in a session's file differs from `id`.

    `id` is the id in the name of the file. They differ if someone copied or renamed the file. The
    list is empty if both are equal or if the file contains no id.
    """
    if found in (id, ""):
        return []
    return [Damage(f"calls itself {found!r:.80} and is read as {id!r:.80}", fatal=False)]


def at(path: str, damages: Sequence[Damage]) -> list[Damage]:
    return [damage._replace(path=path) for damage in damages]
