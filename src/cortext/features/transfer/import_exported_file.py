"""Import a session from a file that `cortext export` wrote."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from cortext.durability.durable_files import storage_errors
from cortext.durability.read_files import read_file
from cortext.errors import InvalidIdError, SessionCorruptedError, SessionStorageError
from cortext.features.transfer.exported_markdown import without_document, write_document
from cortext.formats.exports.export_formats import NotAnExportError, decode, find_body, version_of
from cortext.model.session import Session
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.folder import FolderStore
from cortext.stores.port import SessionStore

MAX_IMPORT_BYTES = 1 << 30
"""The maximum size of a file to import, in bytes. The whole file is read into memory."""
_FORMATS_HINT = "`cortext import` reads files that `cortext export` wrote: md, html, json or jsonl"


class ImportedFile(NamedTuple):
    """The session in a file, and warnings for the user."""

    session: Session
    warnings: list[str]


def read_export(path: str) -> ImportedFile:
    """Read the session from an exported file. The name of the file does not matter.

    Raises SessionStorageError if the file is not an export, and SessionCorruptedError if it is
    damaged.
    """
    if not os.path.lexists(path):
        raise SessionStorageError(f"there is no file {path}", path=path, hint=_FORMATS_HINT)
    with storage_errors("read", path):
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise SessionStorageError(
                f"{path} is a folder, not a file", path=path, hint=_FORMATS_HINT
            )
        if not stat.S_ISREG(status.st_mode):
            hint = "use - to read standard input"
            raise SessionStorageError(f"{path} is not a regular file", path=path, hint=hint)
        refuse_large(status.st_size, path)
        data = read_file(path)
    return parse_export(data, path)


def refuse_large(size: int, name: str) -> None:
    if size > MAX_IMPORT_BYTES:
        raise SessionStorageError(
            f"{name} is larger than {MAX_IMPORT_BYTES >> 30} GB, the most that can be imported",
            path=name,
        )


def parse_export(data: bytes, name: str) -> ImportedFile:
    """Return the session in the bytes of an export.

    `name` is the name of the file for errors and warnings. Raises the same errors as `read_export`.
    """
    try:
        body = find_body(data)
        refuse_newer(version_of(body), name)
        session, notes = decode(body)
    except NotAnExportError as error:
        raise SessionStorageError(f"{name} {error}", path=name, hint=_FORMATS_HINT) from None
    except ValueError as error:
        hint = "nothing was imported; export it again"
        raise SessionCorruptedError(name, str(error), hint=hint) from None
    warnings = [f"{name}: {note}" for note in notes]
    if body.edited:
        warnings.append(
            f"{name}: the text was changed after the export; the conversation is imported without"
            " these changes"
        )
    return ImportedFile(session, warnings)


class SavedImport(NamedTuple):
    """The result of `save_imported`.

    `is_new` is False if the store already had an equal session. `note` is a warning about the
    markdown document for the user, or "".
    """

    is_new: bool
    note: str = ""


def save_imported(session: Session, store: SessionStore) -> SavedImport:
    """Store a session that was read from an export.

    In a workspace, also write the markdown document of the conversation, if the export has it.

    Raises SessionStorageError if the store has a different session with the same id. That session
    does not change.
    """
    if "/" in session.id:
        raise InvalidIdError(session.id)
    if not isinstance(store, FolderStore):
        return SavedImport(_save_session(session, store)[1])
    session, document = without_document(session)
    stored_id, is_new = _save_session(session, store)
    note = write_document(document, store.place_of(stored_id)) if document else ""
    return SavedImport(is_new, note)


def _save_session(session: Session, store: SessionStore) -> tuple[str, bool]:
    """Store a session. Return its id in the store, and whether it is new there."""
    stored_id = _find_stored_id(store, session)
    if stored_id is not None:
        if store.read(stored_id).session == session:
            return stored_id, False
        raise SessionStorageError(
            f"{stored_id} already exists with different content",
            hint="use --as ID to import it under another id",
        )
    store.save(session)
    stored_id = _find_stored_id(store, session)
    if stored_id is None or store.read(stored_id).session != session:
        raise SessionStorageError(f"{session.id} is different when it is read back from the store")
    return stored_id, True


def _find_stored_id(store: SessionStore, session: Session) -> str | None:
    """Return the id under which the store already has this session; None if it does not have it.

    In a workspace, several conversations may have the same id on different days. A conversation
    with the same id on another day is this session only if its start time is the same too.
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
    """Return the date on which a session began, in the local time zone, such as "2024-05-31"."""
    began = session.created_at
    with suppress(OverflowError):
        began = began.astimezone()
    return began.date().isoformat()
