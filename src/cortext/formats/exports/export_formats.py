"""Exports: a session as one file, for people (md, html) or for programs (json, jsonl).

Every export can be imported again as an equal session. `json` is the document format and `jsonl` is
the log format of the stores. `md` and `html` contain the session as invisible JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from cortext.formats import document, log
from cortext.formats.exports import html_export, markdown_export
from cortext.formats.exports.embedded_session import document_of, escape
from cortext.formats.line_formats import encode_records, head_to_dict, join
from cortext.formats.message_lines import decode_lines
from cortext.model import json_codec
from cortext.model.session import Session


class NotAnExportError(ValueError):
    """The file is not an export of a session. The message says what the file is instead."""


class Body(msgspec.Struct, frozen=True):
    """The session's data in an export file, not yet parsed.

    `format` is the format of the export: md, html, json or jsonl. For jsonl, `data` is a log (one
    message on each line). For the other formats, `data` is a JSON document. `edited` is true if
    somebody changed the text around the data.
    """

    format: str
    data: bytes
    edited: bool = False


class DecodedExport(NamedTuple):
    """A session that was read from an export, and notes about unusual things in the file."""

    session: Session
    notes: list[str]


def encode(session: Session, format: str) -> bytes:
    """Return the content of an export file for a session. `format` is a key of `FORMATS`."""
    return FORMATS[format](session)


def find_body(data: bytes) -> Body:
    """Recognize the format of an export file by its content, and find the session's data in it.

    Raises NotAnExportError if `data` is not an export, and ValueError if the export is cut off.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data[:1000].lstrip()
    if not start and not data.strip():
        raise NotAnExportError("is empty")
    if start.startswith(b"{"):
        return _find_json(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotAnExportError("is not text") from None
    if "\0" in text:
        raise NotAnExportError("is not text")
    is_page = start[: len(html_export.BEGINNING)].lower() == html_export.BEGINNING.encode()
    embedded = html_export.find(text) if is_page else markdown_export.find(text)
    if embedded is None:
        kind = "a web page" if is_page else "text"
        raise NotAnExportError(f"is {kind} without the data of a conversation")
    return Body("html" if is_page else "md", embedded.data, embedded.edited)


def version_of(body: Body) -> Mapping[str, Any]:
    """Return `{"version": …}` with the format version of an export.

    The value is None if the export contains no version. The mapping is empty if the data of the
    export is not JSON.
    """
    if body.format != "jsonl":
        return document.decode_version(body.data)
    return {"version": log.decode_head_line(body.data.partition(b"\n")[0], []).get("version")}


def decode(body: Body) -> DecodedExport:
    """Parse the data of an export, and return its session.

    Raises ValueError if the data is damaged.
    """
    if body.format == "jsonl":
        return _decode_log(body.data)
    decoded = document.decode(body.data)
    return DecodedExport(decoded.session, decoded.notes)


def _encode_json(session: Session) -> bytes:
    # The export may be printed to a terminal, so it must not contain control codes.
    return escape(document_of(session)).encode("utf-8")


def _encode_log(session: Session) -> bytes:
    # An import compares this number with the messages in the file, to detect a cut-off file.
    head = {"type": "metadata", **head_to_dict(session, log.LOG)}
    head[log.LOG.count_key] = len(session.messages)
    lines = [json_codec.encode(head), b"\n", *encode_records(session, log.LOG)]
    return escape(b"".join(lines)).encode("utf-8")


FORMATS: dict[str, Callable[[Session], bytes]] = {
    "md": markdown_export.encode,
    "html": html_export.encode,
    "json": _encode_json,
    "jsonl": _encode_log,
}


class _RequiredKeys(msgspec.Struct):
    """The keys that every JSON document of a session has."""

    id: msgspec.Raw
    created_at: msgspec.Raw
    messages: msgspec.Raw


_required_keys = msgspec.json.Decoder(_RequiredKeys)


def _find_json(data: bytes) -> Body:
    if data.startswith(b'{"type":"metadata",') or _is_log_head(data.lstrip().partition(b"\n")[0]):
        return Body("jsonl", data.lstrip())
    try:
        _required_keys.decode(data)
    except msgspec.ValidationError:
        raise NotAnExportError("is JSON, but not a conversation") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The data is not JSON, or it contains values that only the tolerant codec accepts.
        value = json_codec.decode(data)
        if not {"id", "created_at", "messages"} <= set(value):
            raise NotAnExportError("is JSON, but not a conversation") from None
    return Body("json", data)


def _is_log_head(line: bytes) -> bool:
    try:
        head = json_codec.decode(line)
    except ValueError:
        return False
    return head.get("type") == "metadata" and "session_id" in head and "messages" not in head


def _decode_log(data: bytes) -> DecodedExport:
    first, _, rest = data.partition(b"\n")
    notes: list[str] = []
    head = log.decode_head_line(first, notes)
    lines = decode_lines(rest, log.LOG.records, 2)
    for damage in lines.damages:
        if damage.fatal:
            raise ValueError(f"line {damage.line}: {damage.detail}")
        notes.append(damage.detail)
    expected = head.get(log.LOG.count_key)
    if isinstance(expected, int) and expected > len(lines.messages):
        raise ValueError(
            f"is incomplete: it has only {len(lines.messages)} of its {expected} messages"
        )
    return DecodedExport(join(head, lines, log.LOG), notes)
