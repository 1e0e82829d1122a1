"""What is known to be masked in the archive, so that no copying brings it back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.durability.gzip_members import read_packed
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import replace, set_aside, storage_errors
from cortext.errors import CortextError
from cortext.features.archive.archive_state import folder_of
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.doctor.problem import NOTHING, Found, Mend, Mended, Problem, counted

Copies = Iterable[tuple[str, str]]
"""Tools, and the paths of copies of theirs."""


def note_marks(tool: str, path: str, data: bytes) -> None:
    """Note what is masked in a copy that holds these bytes, whoever holds the archive's lock:
    what is copied of it again is without that then. CortextError."""
    from cortext.features.secrets.archive_redactions import Masks, marks_in, name_of

    marks = marks_in(data)
    if marks:
        masks = Masks(tool)
        masks.add(name_of(path, folder_of(tool)), marks)
        masks.save()


def check_masked(copies: Copies) -> Found:
    """Whether that which is noted can be read. Nothing, where nothing was ever masked."""
    path = os.path.join(paths.archive(), ".masked")
    try:
        bad = _bad_lines(read_file(path))
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}"
        return Found([Problem(text, "without it, a sync may bring back what you masked")])
    if not bad:
        return NOTHING
    mend = f"write {path} anew, by what is masked in the copies"
    text = f"{path}, line {bad[0]}: of {counted(len(bad), 'line')} nobody knows what was masked"
    hint = "`cortext doctor --fix` finds out from the copies"
    problem = Problem(text, hint, path=path, line=bad[0], mend=mend)
    return Found([problem], Mend(mend, partial(_mend, path, list(copies))))


def _bad_lines(data: bytes) -> list[int]:
    found: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if line:
                decode(line, type=tuple[str, str, str, list[str]])
        except (DecodeError, ValidationError, UnicodeDecodeError):
            found.append(number)
    return found


def _mend(path: str, copies: list[tuple[str, str]]) -> Mended | None:
    with storage_errors("mend", path), archive_lock(10.0):
        data = read_file(path)
        bad = set(_bad_lines(data))
        if not bad:
            return None
        kept = set_aside(path, "corrupt")
        lines = enumerate(data.split(b"\n"), 1)
        replace(path, [line + b"\n" for number, line in lines if line and number not in bad])
        unread = [copy for tool, copy in copies if not _noted(tool, copy)]
    more = f"; these copies could not be read: {', '.join(unread)}" if unread else ""
    return Mended(f"{path} was written anew{more}", [kept])


def _noted(tool: str, copy: str) -> bool:
    try:
        note_marks(tool, copy, b"".join(read_packed(copy)))
    except (OSError, CortextError):
        return False
    return True
