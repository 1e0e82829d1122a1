"""The MCP tools that read or save one conversation."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.manage.stop_conversation import stop
from cortext.formats.history_text import Left, Past, escape, render_history, render_record
from cortext.mcp import conversation_parts, tool_arguments
from cortext.mcp.conversation_parts import MESSAGES
from cortext.mcp.tool_answers import (
    NOTICE,
    AnswerFacts,
    ConversationFacts,
    ToolAnswer,
    conversation,
    marked,
    new_nonce,
    short,
)
from cortext.mcp.visibility import Reach
from cortext.model import message_dicts

BUDGET = 40_000
"""The approximate number of characters in one answer. AI tools reject or cut longer answers."""


class MessageFacts(AnswerFacts, kw_only=True):
    """A message of a conversation, or a note that a part of a long message was left out.

    `message` is the number of the message, counted from 1. A note has the role "omitted".
    """

    message: int
    role: str
    timestamp: str | None
    text: str


class MessagesAnswer(AnswerFacts, kw_only=True):
    """Messages of a conversation, or pieces of its document.

    `total` is the number of all messages or pieces. `next` is the value of `from` for the next
    page, or None on the last page.
    """

    notice: str = NOTICE
    conversation: ConversationFacts
    messages: list[MessageFacts]
    total: int
    next: int | None


class SavedAnswer(AnswerFacts, kw_only=True):
    id: str
    title: str
    status: str
    summary: str
    notes: list[str]


def get_conversation(reach: Reach, given: tool_arguments.Get) -> ToolAnswer:
    """Read the messages of a past conversation. Without `full`, each tool call is one line."""
    row = reach.one(given.id, everywhere=given.everywhere)
    return page(reach, row, first=given.first, limit=given.limit, full=given.full, part=given.part)


def page(
    reach: Reach,
    row: ConversationRow,
    *,
    first: int = 1,
    limit: int = 50,
    full: bool = False,
    part: str = MESSAGES,
) -> ToolAnswer:
    """Capture new messages of a conversation, and return one page of its messages.

    Args:
        reach: The conversations that the agent may see.
        row: The conversation.
        first: The number of the first message on the page.
        limit: The most messages on the page. A page also ends after about `BUDGET` characters.
        full: Whether to include tool calls in full. Otherwise each call is one line.
        part: The part of the conversation: messages, document or sub-agents.

    Raises:
        CortextError: The conversation has no message `first`, or no such part.
    """
    row = capture_pending(row)
    id, nonce = reach.name(row), new_nonce()
    total, entries, option = conversation_parts.told(
        row, id, part, first=first, full=full, longest=BUDGET // 2
    )
    if first > max(total, 1):
        raise CortextError(
            f"{id} has no message {first}; it has {total} messages",
            hint="`from` counts from 1",
        )
    records: list[tuple[int, Past | Left]] = []
    room, next_number = BUDGET, None
    for number, past in entries:
        if number < first:
            continue
        parts = _shorten(past, number, f"cortext show {id} {option.format(number)}")
        size = sum(len(render_record(record, nonce)) for record in parts)
        if records and (number >= first + limit or size > room):
            next_number = number
            break
        room -= size
        records += [(number, record) for record in parts]
    text = render_history([record for _, record in records], nonce, shown=len(records), total=total)
    about = conversation(row, id)
    lines = [f"{about.id} · {about.title} · {about.type} · {about.status}", NOTICE, text]
    lines += [f"More messages: call again with `from: {next_number}`."] if next_number else []
    messages = [_message_facts(number, record, nonce) for number, record in records]
    facts = MessagesAnswer(conversation=about, messages=messages, total=total, next=next_number)
    return ToolAnswer(facts, "\n".join(lines))


def save_conversation(reach: Reach, given: tool_arguments.Save) -> ToolAnswer:
    """Save a conversation and pause it, with one sentence on where you stopped. Do not send the
    messages: cortext reads them from the AI tool's transcript."""
    row = reach.one(given.id, everywhere=given.everywhere)
    if row.tool == AUR:
        raise CortextError(
            f"{reach.name(row)} is a session of `aur spawn`, which saves it automatically",
            hint="you need not save it",
        )

    row = as_conversation(row)
    stopped = stop(row, summary=given.summary)
    saved = SavedAnswer(
        id=reach.name(row),
        title=short(stopped.title),
        status="paused",
        summary=short(stopped.summary, 1000),
        notes=[short(note, 500) for note in stopped.notes],
    )
    lines = [
        "Session saved.",
        f'Conversation "{saved.title}" has been paused.',
        f"Summary: {saved.summary}",
        *saved.notes,
    ]
    return ToolAnswer(saved, "\n".join(lines))


def _shorten(past: Past, number: int, show: str) -> Sequence[Past | Left]:
    """Split a message that is too long into its beginning, a note and its end.

    `number` is the number of the message. The note contains `show`, the command that prints the
    whole message. A message that is short enough is returned unchanged.
    """
    half = BUDGET // 4
    if len(past.text) <= 2 * half:
        return [past]
    words = f"{len(past.text) - 2 * half:,} characters of message {number}"
    return [
        past._replace(text=past.text[:half]),
        Left(f"{words}: {show}"),
        past._replace(text=past.text[-half:]),
    ]


def _message_facts(number: int, record: Past | Left, nonce: str) -> MessageFacts:
    if isinstance(record, Left):
        return MessageFacts(
            message=number, role="omitted", timestamp=None, text=escape(record.text)
        )
    when = message_dicts.iso(record.timestamp)
    return MessageFacts(
        message=number, role=record.role, timestamp=when, text=marked(record.text, nonce)
    )
