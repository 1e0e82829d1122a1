"""The parts of a conversation that an agent can read: messages, document and sub-agents.

A part is a sequence of entries, which are numbered from 1. An entry is a message, or a piece of the
document.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.features.listing.session_of_row import read_all
from cortext.formats.history_in_order import history
from cortext.formats.history_text import Past
from cortext.mcp.visibility import read_row
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in

MESSAGES, DOCUMENT, AGENTS = "messages", "document", "agents"


class Told(NamedTuple):
    """A part of a conversation.

    `total` is the number of entries. `past` yields the entries, each with its number. `option` is
    the option of `cortext show` that prints one entry in full, such as `--message {}`. `{}` stands
    for the number of the entry.
    """

    total: int
    past: Iterator[tuple[int, Past]]
    option: str


def told(row: ConversationRow, id: str, part: str, *, first: int, full: bool, longest: int) -> Told:
    """Return the entries of one part of a conversation.

    Raise CortextError if the conversation has no such part.

    Args:
        row: The conversation.
        id: The id of the conversation for error messages and hints.
        part: `MESSAGES`, `DOCUMENT` or `AGENTS`.
        first: The number of a message that is included in full, even if it is a tool result.
        full: Whether to include tool calls and results in full. Otherwise a call and its result are
            one line.
        longest: The most characters in one piece of a document.
    """
    if part == DOCUMENT:
        pieces = _document_pieces(row, id, longest)
        return Told(len(pieces), ((n, p) for n, p in enumerate(pieces, 1)), "--at document")
    if part == AGENTS:
        sessions = read_all(row).side if row.tool else ()
        if not sessions:
            raise CortextError(f"{id} has no sub-agents", hint="read its messages without `part`")
        total = sum(len(session.messages) for session in sessions)
        return Told(total, _agent_entries(sessions, id, full=full), "--at agents")
    session = read_row(row)
    past = (
        _full_entries(session)
        if full
        else _with_message(first, session, _short_entries(session, id))
    )
    return Told(len(session.messages), past, "--message {}")


def _with_message(
    first: int, session: Session, past: Iterator[tuple[int, Past]]
) -> Iterator[tuple[int, Past]]:
    """Yield the entries of `past`. If the message with the number `first` is missing, insert it."""
    is_included = not 0 < first <= len(session.messages)
    for number, each in past:
        if number > first and not is_included:
            yield first, _full_entry(session.messages[first - 1])
        is_included = is_included or number >= first
        yield number, each
    if not is_included:
        yield first, _full_entry(session.messages[first - 1])


def _document_pieces(row: ConversationRow, id: str, longest: int) -> list[Past]:
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        raise CortextError(f"{id} has no document", hint="read its messages without `part`")
    text = read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")
    starts = range(0, max(len(text), 1), longest)
    return [Past(DOCUMENT, row.active_at, text[start : start + longest]) for start in starts]


def _agent_entries(
    sessions: Sequence[Session], id: str, *, full: bool
) -> Iterator[tuple[int, Past]]:
    before = 0
    for session in sessions:
        past = (
            _full_entries(session)
            if full
            else _short_entries(session, id, f" part {AGENTS}", before)
        )
        for number, each in past:
            yield number + before, each
        before += len(session.messages)


def _short_entries(
    session: Session, id: str, of: str = "", before: int = 0
) -> Iterator[tuple[int, Past]]:
    def whole(number: int) -> str:
        return f"get_conversation {id}{of} from {number + before}, full"

    for part in history(session, whole):
        yield part.number, part.past


def _full_entries(session: Session) -> Iterator[tuple[int, Past]]:
    for number, message in enumerate(session.messages, 1):
        yield number, _full_entry(message)


def _full_entry(message: SessionMessage) -> Past:
    calls = [
        json_codec.encode(call).decode("utf-8", "replace") for call in message.tool_calls or ()
    ]
    text = "\n".join([*([message.content] if message.content else []), *calls])
    return Past(message.role, message.timestamp, text)
