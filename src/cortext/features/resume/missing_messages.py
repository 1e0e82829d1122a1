"""Find the messages of a conversation that one of its tool sessions lacks.

Such messages come from other tool sessions of the conversation. A binding connects a tool session
to its conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.transcripts import own_transcript
from cortext.features.listing.session_of_row import read
from cortext.features.resume.resumable_tool_sessions import has_whole_conversation, row_bindings
from cortext.formats.history_budget import render_briefing_history
from cortext.formats.history_in_order import is_abandoned
from cortext.model.ids import new_id
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.tool_binding import ToolBinding

_MAX_RESULT = 1000  # characters that are read of a tool result; enough to compare messages


def find_missing(row: ConversationRow, tool: str, id: str) -> list[int] | None:
    """Return the numbers of the conversation's messages that the tool session `id` lacks.

    The first message has the number 1. The session got all older messages when it was bound to the
    conversation, so only later messages are compared. Return None if the session was never bound,
    or if it is unknown which messages it lacks.
    """
    bindings = [each for each in row_bindings(row) if each.is_of(tool, id)]
    if not bindings:
        return None
    binding = bindings[-1]
    found = own_transcript(tool, id, binding.path)
    if found is None:
        return []  # the session has just begun with this conversation
    try:
        in_session = found[0].decode(found[1], longest=_MAX_RESULT).session.messages
        if has_whole_conversation(row, binding, *found):
            return []
    except (OSError, CortextError):
        return None
    since, have = _find_start_time(binding, in_session), {m.id for m in in_session}
    missing = [
        number
        for number, message in enumerate(read(row)[0].messages, 1)
        if message.id not in have
        and not is_abandoned(message)
        and (since is None or message.timestamp > since)
    ]
    # If the times do not show which messages are missing, None makes the caller send all messages.
    return missing if missing or binding.seen_digest is None else None


def render_missing(row: ConversationRow, numbers: Sequence[int], *, budget: int) -> str:
    """Return a text for the agent with the messages that its session lacks.

    `numbers` are the message numbers from `find_missing`. If `numbers` is empty, the text says that
    the session has the whole history. `budget` is the maximum length of the history in characters.
    """
    if not numbers:
        return "This session already contains the history."
    session = read(row)[0]
    missing = structs.replace(
        session, messages=[session.messages[number - 1] for number in numbers], tool_history=[]
    )
    history = render_briefing_history(
        missing,
        nonce=new_id().replace("-", ""),
        budget=budget,
        show=lambda number: f"cortext show {row.key} --message {numbers[number - 1]}",
    )
    intro = "This session contains the history, except for the following messages from elsewhere."
    return f"{intro}\n\n{history}"


def _find_start_time(binding: ToolBinding, in_session: list[SessionMessage]) -> datetime | None:
    """Return the time from which a tool session belongs to its conversation.

    `in_session` are the messages of the session. The binding has this time, or the id of the
    message with which the session begins to belong to the conversation. If the binding has an id,
    return the time of the message with this id. If there is no such message, return the time of the
    first message of the session. Return None if the session has no messages.
    """
    for text in (binding.start, binding.start_time):
        try:
            return parse_time(text)
        except (ValueError, OverflowError):
            continue  # the text is the id of a message, or is missing
    matching = [message.timestamp for message in in_session if message.id == binding.start]
    began = in_session[0].timestamp if in_session else None
    return matching[0] if matching else began
