"""The log format: one file with the head on line 1, and a message on every later line.

The head has all fields of a session except its messages.
"""

from __future__ import annotations

from typing import Any

from cortext.formats.line_formats import Format, StoredRecords, encode_records, head_to_dict
from cortext.formats.message_lines import INVOCATIONS, RecordTable
from cortext.model import json_codec, message_dicts
from cortext.model.session import Session
from cortext.model.session_head_codec import FIELDS, table

_REQUIRED = ("id", "agent", "created_at", "status", "updated_at")

LOG = Format(
    head=table(
        (*_REQUIRED, *(name for name in FIELDS if name not in _REQUIRED)),
        always=_REQUIRED,
        rename={"id": "session_id"},
        own=("type", INVOCATIONS, "turns_at_update"),
        words={"paused": "interrupted"},
    ),
    records=RecordTable(type="turn"),
    count_key="turns_at_update",
    always_counts=False,
)


def encode(session: Session, format: Format = LOG) -> bytes:
    """Return the content of the log file of a session."""
    return encode_head_line(session) + b"".join(encode_records(session, format))


def encode_head_line(session: Session, stored: StoredRecords | None = None) -> bytes:
    """Return line 1 of a log file, with its newline.

    Line 1 is the head, which has all fields of the session except the messages. If the caller also
    writes all messages, `stored` is None. If the caller writes only the head, `stored` describes
    the messages and tool calls that are already on disk.
    """
    return json_codec.encode({"type": "metadata", **head_to_dict(session, LOG, stored)}) + b"\n"


def decode_head_line(line: bytes, notes: list[str]) -> dict[str, Any]:
    """Parse the head of a session, which is line 1 of a log file, and return it as a dict.

    Sentences about unusual things in the JSON are added to `notes`. Raises ValueError if the line
    is invalid.
    """
    data = message_dicts.as_dict(json_codec.decode(line, notes))
    if data.pop("type", None) != "metadata":
        raise ValueError("line 1 is not the session's metadata")
    return data
