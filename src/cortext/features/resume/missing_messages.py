"""The messages of a conversation that one of its tool sessions lacks.

Such messages come from other tool sessions of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.transcripts import own_transcript
from cortext.features.listing.session_of_row import read
from cortext.features.resume.native_sessions import has_whole_conversation, row_bindings
from cortext.formats.history_budget import render_briefing_history
from cortext.formats.message_history import is_abandoned
from cortext.model.ids import new_id
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.tool_binding import ToolBinding

_SHORT = 1000  # characters of a result that are enough to recognize its message


def find_missing(row: ConversationRow, tool: str, id: str) -> list[int] | None:
    """Return the numbers of the conversation's messages that the tool session `id` lacks.

    Numbers count from 1. Messages from before the binding do not count, because the session got
    them when it was bound. Return None if the session was never bound, or if its missing messages
    are unknown.
    """
    bindings = [each for each in row_bindings(row) if each.is_of(tool, id)]
    if not bindings:
        return None
    binding = bindings[-1]
    found = own_transcript(tool, id, binding.path)
    if found is None:
        return []  # the session has just begun with this conversation
    try:
        there = found[0].decode(found[1], longest=_SHORT).session.messages
        if has_whole_conversation(row, binding, *found):
            return []
    except (OSError, CortextError):
        return None
    since, have = _find_start_time(binding, there), {m.id for m in there}
    missing = [
        number
        for number, message in enumerate(read(row)[0].messages, 1)
        if message.id not in have
        and not is_abandoned(message)
        and (since is None or message.timestamp > since)
    ]
    # If the times do not show which messages are missing, the session gets all of them.
    return missing if missing or binding.seen_digest is None else None


def render_missing(row: ConversationRow, numbers: Sequence[int], *, budget: int) -> str:
    """Return a text for the agent with the messages that its session lacks.

    `numbers` are the message numbers from `find_missing`. Without numbers, the text says that the
    session has the whole history.
    """
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


def _find_start_time(binding: ToolBinding, there: list[SessionMessage]) -> datetime | None:
    """Return when a session was bound to a conversation, or when the session began."""
    for text in (binding.start, binding.start_time):
        try:
            return parse_time(text)
        except (ValueError, OverflowError):
            continue  # the text is the id of a message, or is missing
    before = [message.timestamp for message in there if message.id == binding.start]
    began = there[0].timestamp if there else None
    return before[0] if before else began
