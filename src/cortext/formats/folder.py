"""The folder format, which stores the conversations of a workspace.

The file `session.json` has the head: all fields of a session except its messages. The file
`messages.jsonl` has one message on each line.
"""

from __future__ import annotations

from typing import Any

from cortext.formats.line_formats import Format, StoredRecords, head_to_dict
from cortext.formats.message_lines import INVOCATIONS, RecordTable
from cortext.model import json_codec, message_dicts
from cortext.model.session import Session
from cortext.model.session_head_codec import FIELDS, table
from cortext.model.token_count import tokens_of

_ORDER = (
    "id", "kind", "title", "status", "created_at", "updated_at", "agent", "command",
    "prompt_hash", "model", "tools", "summary",
)  # fmt: skip

TOKENS = ("token_count", "token_count_from")

FOLDER = Format(
    head=table(
        (*_ORDER, *(name for name in FIELDS if name not in _ORDER)),
        always=(
            "id", "kind", "status", "created_at", "updated_at", "command", "prompt_hash", "model",
            "tools", "summary",
        ),
        rename={
            "id": "conversation_id",
            "kind": "conversation_type",
            "updated_at": "last_active",
            "agent": "agent_config.agent",
            "command": "agent_config.command",
            "prompt_hash": "agent_config.system_prompt_hash",
            "model": "agent_config.model",
            "tools": "agent_config.tools",
            "summary": "context_summary",
        },
        own=("message_count", INVOCATIONS, *TOKENS),
        nulls=True,
    ),
    records=RecordTable(),
    count_key="message_count",
    always_counts=True,
)  # fmt: skip


def encode_head(session: Session, stored: StoredRecords | None = None) -> bytes:
    """Return the content of `session.json` as indented JSON.

    If the caller also writes all messages to `messages.jsonl`, `stored` is None. If the caller
    writes only `session.json`, `stored` describes the messages and tool calls that are already on
    disk.
    """
    data = head_to_dict(session, FOLDER, stored)
    messages = session.messages if stored is None else stored.messages
    tokens = tokens_of(session, messages)
    values = tokens.total, "tool" if tokens.reported else "estimate"
    data.update(zip(TOKENS, values, strict=True))
    return json_codec.pretty(data) + b"\n"


def decode_head(data: bytes, notes: list[str]) -> dict[str, Any]:
    """Parse the content of `session.json`, and return it as a dict.

    Sentences about unusual things in the JSON are added to `notes`. Raises ValueError if the
    content is not a JSON object.
    """
    head = message_dicts.as_dict(json_codec.decode(data, notes))
    for derived in TOKENS:
        head.pop(derived, None)
    return head
