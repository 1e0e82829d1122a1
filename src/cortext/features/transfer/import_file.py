"""Import a session from a file that `cortext export` wrote."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from cortext.durability.read_files import read_file
from cortext.durability.replace_file import storage_errors
from cortext.errors import InvalidIdError, SessionCorruptedError, SessionStorageError
from cortext.formats.exports.export_codec import NotAnExportError, decode, find_body, version_of
from cortext.model.session import Session
from cortext.stores.damage_report import refuse_newer
from cortext.stores.port import SessionStore

LARGEST = 1 << 30
"""The largest file that can be imported, in bytes. A file is read as a whole."""
_OURS = "import reads what `cortext export` wrote: md, html, json or jsonl"


class ImportedFile(NamedTuple):
    """The session in a file, and warnings for the user."""

    session: Session
    warnings: list[str]


def read_export(path: str) -> ImportedFile:
    """Read the session from an exported file. The name of the file does not matter.

    Raises SessionStorageError if the file is not an export, and SessionCorruptedError if it is
    damaged.
    """
    with storage_errors("read", path):
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            raise SessionStorageError(f"{path} is a folder, not a file", path=path, hint=_OURS)
        if not stat.S_ISREG(found.st_mode):
            hint = "give - to read standard input"
            raise SessionStorageError(f"{path} is not a regular file", path=path, hint=hint)
        refuse_large(found.st_size, path)
        data = read_file(path)
    return parse_export(data, path)


def refuse_large(size: int, name: str) -> None:
    if size > LARGEST:
        raise SessionStorageError(
            f"{name} is larger than {LARGEST >> 30} GB, the most that can be imported", path=name
        )


def parse_export(data: bytes, name: str) -> ImportedFile:
    """Return the session in the bytes of an export.

    `name` is the name of the file for messages. Raises the same errors as `read_export`.
    """
    try:
        body = find_body(data)
        refuse_newer(version_of(body), name)
        session, notes = decode(body)
    except NotAnExportError as error:
        raise SessionStorageError(f"{name} {error}", path=name, hint=_OURS) from None
    except ValueError as error:
        hint = "nothing was imported; export it again"
        raise SessionCorruptedError(name, str(error), hint=hint) from None
    warnings = [f"{name}: {note}" for note in notes]
    if body.edited:
        warnings.append(
            f"{name}: its text was changed after the export; the conversation is imported as it"
            " was exported"
        )
    return ImportedFile(session, warnings)


def save_imported(session: Session, store: SessionStore) -> bool:
    """Store a session; return False if the store already has an equal session.

    Raises SessionStorageError if the store has a different session with the same id. That session
    does not change.
    """
    if "/" in session.id:
        raise InvalidIdError(session.id)
    place = _place(store, session)
    if place is not None:
        if store.read(place).session == session:
            return False
        raise SessionStorageError(
            f"{place} is here already, and it is not equal",
            hint="`--as ID` imports it under another id",
        )
    store.save(session)
    place = _place(store, session)
    if place is None or store.read(place).session != session:
        raise SessionStorageError(f"{session.id} did not come back equal from where it was stored")
    return True


def _place(store: SessionStore, session: Session) -> str | None:
    """Return the id under which the store already has this session; None if it does not.

    In a workspace, a session with the same id on another day is a different conversation, unless
    both began at the same time.
    """
    if not store.exists(session.id):
        return None
    dated = f"{_day_of(session)}/{session.id}"
    try:
        if store.exists(dated):
            return dated
    except InvalidIdError:
        return session.id  # a store without days
    for name in store.list_session_ids():
        if name.rpartition("/")[2] == session.id:
            began = store.read(name).session.created_at
            if began == session.created_at:
                return name
    return None


def _day_of(session: Session) -> str:
    """Return the local date on which the session began."""
    began = session.created_at
    with suppress(OverflowError):
        began = began.astimezone()
    return began.date().isoformat()
