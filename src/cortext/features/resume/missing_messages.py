"""What a session of a tool lacks of a conversation that was had in it, and elsewhere too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.transcripts import own_transcript
from cortext.features.listing.load_row import read
from cortext.features.resume.native_sessions import entries_of, holds_all
from cortext.formats.history_budget import render_briefing_history
from cortext.formats.message_history import is_abandoned
from cortext.model.ids import new_id
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage

_SHORT = 1000  # characters of a result are enough to know the message that holds it


def lacking(row: ConversationRow, tool: str, id: str) -> list[int] | None:
    """The numbers, from 1, of the messages that are not in a session; None if the conversation
    was never had in it, or that cannot be told. What was said before it came there was told
    there when it did."""
    entries = [e for e in entries_of(row) if (e.get("tool"), e.get("session_id")) == (tool, id)]
    if not entries:
        return None
    entry = entries[-1]
    found = own_transcript(tool, id, str(entry.get("path") or ""))
    if found is None:
        return []  # it has only just begun, with this conversation
    try:
        there = found[0].decode(found[1], longest=_SHORT).session.messages
        if holds_all(row, entry, *found):
            return []
    except (OSError, CortextError):
        return None
    since, have = _start(entry, there), {m.id for m in there}
    missing = [
        number
        for number, message in enumerate(read(row)[0].messages, 1)
        if message.id not in have
        and not is_abandoned(message)
        and (since is None or message.timestamp > since)
    ]
    # Where no times tell what it lacks, it is told everything.
    return missing if missing or "held" not in entry else None


def rest_of(row: ConversationRow, numbers: Sequence[int], *, budget: int) -> str:
    """What a session is told that lacks these messages, or none."""
    if not numbers:
        return "The history already stands in this session."
    session = read(row)[0]
    part = structs.replace(
        session, messages=[session.messages[number - 1] for number in numbers], tool_history=[]
    )
    history = render_briefing_history(
        part,
        nonce=new_id().replace("-", ""),
        budget=budget,
        show=lambda number: f"cortext show {row.key} --message {numbers[number - 1]}",
    )
    told = "This session has the history but for what was said elsewhere, which follows."
    return f"{told}\n\n{history}"


def _start(entry: dict[str, Any], there: list[SessionMessage]) -> datetime | None:
    """When a conversation came into a session: a time, or that of the message before; at the
    earliest when the session began."""
    began = there[0].timestamp if there else None
    for name in ("from", "since"):
        try:
            return parse_time(entry[name])
        except (ValueError, OverflowError, TypeError, LookupError):
            continue  # it is a message's id, or not said
    before = [message.timestamp for message in there if message.id == entry.get("from")]
    return before[0] if before else began
