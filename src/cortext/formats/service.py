"""The service format, in which the HTTP service stores sessions in memory, Redis and Postgres.

A stored session has two parts: a head, which has all fields except the messages, and a list of
messages. All keys are in camelCase.
"""

from __future__ import annotations

from typing import Any

from cortext.formats.line_formats import Format, encode_records, head_to_dict, join
from cortext.formats.message_lines import INVOCATIONS, RecordTable, decode_lines
from cortext.model.session import Session
from cortext.model.session_head_codec import FIELDS, table


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


SERVICE = Format(
    head=table(
        FIELDS,
        always=("id", "created_at", "updated_at"),
        rename={name: camel(name) for name in FIELDS},
        own=(INVOCATIONS, "messageCount"),
    ),
    records=RecordTable(
        names={name: camel(name) for name in ("tool_calls", "tool_call_id", "structured_data")}
    ),
    count_key="messageCount",
    always_counts=False,
)


def encode(session: Session) -> tuple[dict[str, Any], list[bytes]]:
    """Return a session as its head and its lines.

    The head is a dict with all fields except the messages. There is one line of JSON for each
    message.
    """
    return head_to_dict(session, SERVICE), encode_records(session, SERVICE)


def decode(head: dict[str, Any], records: list[bytes]) -> Session:
    """Create a session from its head and from `records`, the lines with its messages.

    Raises ValueError, with the reason, if the head or a line is invalid.
    """
    lines = decode_lines(b"".join(records), SERVICE.records)
    for damage in lines.damages:
        if damage.fatal:
            raise ValueError(f"record {damage.line}: {damage.detail}")
    return join(head, lines, SERVICE)
