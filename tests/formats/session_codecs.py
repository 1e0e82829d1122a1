"""The four formats behind one pair of functions, as a store would use them."""

from collections.abc import Callable
from typing import Any

from cortext.formats import document, folder, log, service
from cortext.formats.document import EncodedRecords
from cortext.formats.line_formats import encode_records, join
from cortext.formats.message_lines import decode_lines
from cortext.model import json_codec
from cortext.model.session import Session


def _encode_document(session: Session) -> bytes:
    blocks = (
        EncodedRecords().extended(session.messages),
        EncodedRecords().extended(session.tool_history),
    )
    return b"".join(document.encode(session, *blocks))


def _decode_document(data: bytes) -> Session:
    decoded = document.decode(data)
    assert decoded.notes == []
    return decoded.session


def _decode_log(data: bytes) -> Session:
    first, _, rest = data.partition(b"\n")
    notes: list[str] = []
    head = log.decode_head_line(first, notes)
    lines = decode_lines(rest, log.LOG.records, 2)
    assert (notes, lines.damages) == ([], [])
    return join(head, lines, log.LOG)


def _encode_folder(session: Session) -> tuple[bytes, bytes]:
    return folder.encode_head(session), b"".join(encode_records(session, folder.FOLDER))


def _decode_folder(data: tuple[bytes, bytes]) -> Session:
    notes: list[str] = []
    head = folder.decode_head(data[0], notes)
    lines = decode_lines(data[1], folder.FOLDER.records)
    assert (notes, lines.damages) == ([], [])
    return join(head, lines, folder.FOLDER)


def _encode_service(session: Session) -> tuple[bytes, list[bytes]]:
    head, records = service.encode(session)
    return json_codec.encode(head), records


def _decode_service(data: tuple[bytes, list[bytes]]) -> Session:
    return service.decode(json_codec.decode(data[0]), data[1])


FORMATS: dict[str, tuple[Callable[[Session], Any], Callable[[Any], Session]]] = {
    "document": (_encode_document, _decode_document),
    "log": (log.encode, _decode_log),
    "folder": (_encode_folder, _decode_folder),
    "service": (_encode_service, _decode_service),
}


def through(session: Session, name: str) -> Session:
    """What a session is after a stay in one format."""
    encode, decode = FORMATS[name]
    return decode(encode(session))
