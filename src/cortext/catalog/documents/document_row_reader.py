"""Read one session document and make its catalog row.

A damaged document still gives a row, with as much as can be read and a note about the problem.
"""

from __future__ import annotations

from cortext.catalog.rebuildable_database import bounded, micros, plain
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.catalog.row_id_fields import own_id, shown_bindings
from cortext.catalog.row_table import ReadRow
from cortext.catalog.row_text_redaction import redact_all, shown, told
from cortext.durability.read_files import read_file_and_stat
from cortext.errors import CortextError, reason_of
from cortext.formats import document
from cortext.model.session import Session
from cortext.model.title import generate_title
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.ids_in_folder import is_id


def read_document(folder: str, id: str) -> ReadRow | None:
    """Return the catalog row of the document `id` in a folder.

    Return None if the file is gone, or if `id` is not a session id. If no session can be read, the
    row has the status "" and a note with the reason. The file is neither changed nor locked.
    """
    path = f"{folder}/{id}.json"
    if not is_id(id):
        return None
    try:
        data, status = read_file_and_stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return ReadRow(_row_without_session(path, id, shown(f"{path}: {reason_of(error)}")), None)
    fingerprint = Fingerprint.of(status)
    session, note = _decode(data, path, id)
    if session is None:
        return ReadRow(_row_without_session(path, id, note), fingerprint)
    return ReadRow(_row(session, path, id, note, str(fingerprint)), fingerprint)


def _row_without_session(path: str, id: str, note: str) -> ConversationRow:
    return ConversationRow(tool=DOCUMENT, path=path, key=id, status="", last_active=0, note=note)


def _decode(data: bytes, path: str, id: str) -> tuple[Session | None, str]:
    """Return the session of a document, and a note.

    The note describes a problem; "" means that there is none. The session is None if no message can
    be read, or if a later release wrote the document.
    """
    try:
        decoded = document.decode(data)
        refuse_newer({"version": decoded.version}, path)
    except CortextError as error:
        return None, shown(str(error))
    except ValueError as error:
        return _salvage(data, path, id, str(error))
    return decoded.session, ""


def _salvage(data: bytes, path: str, id: str, reason: str) -> tuple[Session | None, str]:
    try:
        refuse_newer(document.decode_version(data), path)
    except CortextError as error:
        return None, shown(str(error))
    session, _ = document.salvage(data, id)
    return (session if session.messages else None), shown(f"{path}: {reason}")


def _row(session: Session, path: str, id: str, note: str, fingerprint: str) -> ConversationRow:
    last = max([micros(session.updated_at), *(micros(m.timestamp) for m in session.messages[-1:])])
    return ConversationRow(
        tool=DOCUMENT,
        path=path,
        key=id,
        status=session.status,
        last_active=bounded(last),
        kind=shown(session.kind) or "chat",
        title=told(session.title) or told(generate_title(session)),
        note=note,
        summary=told(session.summary),
        tags=redact_all(session.tags),
        created_at=micros(session.created_at),
        messages=len(session.messages),
        tokens=bounded(session.total_tokens),
        model=shown(session.model),
        agent=shown(session.agent),
        owner=shown(session.owner),
        parent_id=shown(session.parent_id),
        bindings=shown_bindings(session),
        working_dir=plain(session.working_dir),
        own_id=own_id(session),
        stop_reason=shown(session.stop_reason),
        # Any write of the document may have changed its messages.
        fingerprint=fingerprint,
    )
