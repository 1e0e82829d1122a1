"""One document as lists show it, read from its file as far as that can be read."""

from __future__ import annotations

from cortext.durability.read import read_file_and_stat
from cortext.errors import CortextError
from cortext.formats import document
from cortext.index.database import bounded, micros, plain
from cortext.index.documents import Row
from cortext.index.listed import facts
from cortext.model.session import Session
from cortext.model.text import clean
from cortext.model.title import generate_title
from cortext.stores.checks import refuse_newer
from cortext.stores.names import is_id
from cortext.stores.seen import Fingerprint


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
        return Row(id, 0, 0, 0, "", "", 0, _shown(f"{path}: {_reason(error)}"))
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
        return None, _shown(str(error))
    except ValueError as error:
        return _salvage(data, path, id, str(error))
    return decoded.session, ""


def _salvage(data: bytes, path: str, id: str, why: str) -> tuple[Session | None, str]:
    try:
        refuse_newer(document.decode_version(data), path)
    except CortextError as error:
        return None, _shown(str(error))
    session, _ = document.salvage(data, id)
    return (session if session.messages else None), _shown(f"{path}: {why}")


def _text(session: Session, note: str, print: str) -> str:
    return facts(
        kind=_shown(session.kind) or "chat",
        title=_shown(session.title) or _shown(generate_title(session)),
        note=note,
        summary=_shown(session.summary),
        tags=[tag for tag in map(_shown, session.tags) if tag],
        created_at=micros(session.created_at),
        messages=len(session.messages),
        tokens=session.total_tokens,
        model=_shown(session.model),
        agent=_shown(session.agent),
        parent_id=_shown(session.parent_id),
        # Whatever is written into the file, what was said may be other words.
        lines=print,
        native=[
            f"{_shown(str(each.get('tool') or '')).replace(':', ' ')}:{id}"
            for each in session.native
            if (id := _shown(str(each.get("session_id") or "")))
        ],
        stop_reason=_shown(session.stop_reason),
    )


def _shown(text: str) -> str:
    """As lists show it; half characters have no place in a database."""
    return plain(clean(text, lines=False))


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
