"""One document as lists show it, read from its file as far as that can be read."""

from __future__ import annotations

from cortext.catalog.database import bounded, micros, plain
from cortext.catalog.program_documents import Row
from cortext.catalog.row import facts
from cortext.catalog.sanitize import own_id, shown, shown_native, told, told_all
from cortext.durability.read_files import read_file_and_stat
from cortext.errors import CortextError, reason_of
from cortext.formats import document
from cortext.model.session import Session
from cortext.model.title import generate_title
from cortext.stores.damage_report import refuse_newer
from cortext.stores.fingerprints import Fingerprint
from cortext.stores.session_file_names import is_id


def read_document(folder: str, id: str) -> Row | None:
    """What a list shows of a document; None if it is gone, or has no name of a session. Nothing is
    written and nothing locked."""
    path = f"{folder}/{id}.json"
    if not is_id(id):
        return None
    try:
        data, found = read_file_and_stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Row(id, 0, 0, 0, "", "", 0, shown(f"{path}: {reason_of(error)}"))
    now = Fingerprint.of(found)
    session, note = _decode(data, path, id)
    if session is None:
        return Row(id, *now, "", "", 0, note)
    last = max([micros(session.updated_at), *(micros(m.timestamp) for m in session.messages[-1:])])
    text = _text(session, note, " ".join(map(str, now)))
    cwd = plain(session.working_dir)
    return Row(id, *now, cwd, session.status, bounded(last), text)


def _decode(data: bytes, path: str, id: str) -> tuple[Session | None, str]:
    """The session, and what is wrong with it; none, if nothing that was said can be read."""
    try:
        decoded = document.decode(data)
        refuse_newer({"version": decoded.version}, path)
    except CortextError as error:
        return None, shown(str(error))
    except ValueError as error:
        return _salvage(data, path, id, str(error))
    return decoded.session, ""


def _salvage(data: bytes, path: str, id: str, why: str) -> tuple[Session | None, str]:
    try:
        refuse_newer(document.decode_version(data), path)
    except CortextError as error:
        return None, shown(str(error))
    session, _ = document.salvage(data, id)
    return (session if session.messages else None), shown(f"{path}: {why}")


def _text(session: Session, note: str, print: str) -> str:
    return facts(
        kind=shown(session.kind) or "chat",
        title=told(session.title) or told(generate_title(session)),
        note=note,
        summary=told(session.summary),
        tags=told_all(session.tags),
        created_at=micros(session.created_at),
        messages=len(session.messages),
        tokens=session.total_tokens,
        model=shown(session.model),
        agent=shown(session.agent),
        owner=shown(session.owner),
        parent_id=shown(session.parent_id),
        # Whatever is written into the file, what was said may be other words.
        lines=print,
        native=shown_native(session.native),
        own_id=own_id(session),
        stop_reason=shown(session.stop_reason),
    )
