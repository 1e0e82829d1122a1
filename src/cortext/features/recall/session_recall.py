"""Recall: tell an agent at the start of a session the last decisions and the open points.

They are sentences from the ends of the last conversations in the same project. Nothing is stored:
each start reads the conversations again, so deleted and redacted text is never recalled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.catalog.row_text_redaction import shown
from cortext.errors import CortextError
from cortext.features.capture.transcripts import read_last_messages, transcript_at
from cortext.features.listing.background_catalog_refresh import start_background_counting
from cortext.features.recall.project_conversations import StartedSession, find_latest
from cortext.features.search.decisions import decisions_in
from cortext.formats.history_in_order import is_abandoned
from cortext.formats.recall_text import RecallFact, render_recall
from cortext.model.extractive_summary import open_point
from cortext.model.ids import new_id
from cortext.model.message import SessionMessage
from cortext.model.secrets.quick_check import could_hold
from cortext.stores.folder import FolderStore
from cortext.stores.store_registry import open_session_store

_MAX_CONVERSATIONS = 6
_MAX_DECISIONS = 3
"""The number of decisions that are taken from each conversation."""
_END_BYTES, _END_MESSAGES = 1 << 18, 100
"""How much is read at the end of a conversation."""
_HEAD, _TAIL = 1500, 500
"""How many characters are examined at both ends of a message. A question is often at its end."""
_MAX_EACH, _MAX_TEXT = 8000, 30_000
"""How many characters are examined in each conversation, and in all of them."""
_SHORT_ID = 13
"""The number of characters of a tool's session id that are enough to name the session."""


class _DatedFact(msgspec.Struct, frozen=True):
    """A fact with the time of its message."""

    time: datetime
    fact: RecallFact


def make_recall(tool: str, folder: str, transcript: str = "") -> str:
    """Return the recall for a tool session that begins now, or "" if there is nothing to recall.

    `folder` is the working folder of the session, and `transcript` is the path of its transcript.
    The recall may lack the latest sessions of other tools and worktrees, because the catalog is not
    updated first. A background process updates the catalog for the next recall.
    """
    session = StartedSession(tool, folder, transcript)
    found: list[_DatedFact] = []
    room = _MAX_TEXT
    for row in find_latest(session, _MAX_CONVERSATIONS):
        try:
            messages = _spoken_at_end(_read_end(row), min(room, _MAX_EACH))
        except (OSError, CortextError):
            continue  # the conversation was deleted, or `doctor` reports the damage
        room -= sum(len(message.content) for message in messages)
        found += _find_facts(row, messages)
    start_background_counting()
    found.sort(key=lambda each: each.time, reverse=True)
    unique = {each.fact.text.casefold(): each.fact for each in reversed(found)}
    facts = [each.fact for each in found if unique[each.fact.text.casefold()] is each.fact]
    return render_recall(facts, new_id().replace("-", ""))


def _find_facts(row: ConversationRow, messages: Sequence[SessionMessage]) -> Iterator[_DatedFact]:
    """Yield the last decisions of a conversation, and the point that it left open."""
    decided = dict.fromkeys(decisions_in(messages))
    for number, sentence in [*decided][-_MAX_DECISIONS:]:
        yield _to_fact(row, "decided", messages[number - 1].timestamp, sentence)
    # The status of a `spawn` session says nothing: it is "completed" whenever the session ends.
    is_done = row.status == "completed" and not row.tool
    point = "" if is_done else open_point(messages)
    if point:
        yield _to_fact(row, "open", messages[-1].timestamp, point)


def _spoken_at_end(messages: Sequence[SessionMessage], room: int) -> list[SessionMessage]:
    """Return the last messages of the user and the agent, with at most `room` characters together.

    The returned messages have placeholders for secrets, and long texts are shortened.
    """
    found: list[SessionMessage] = []
    for message in reversed(messages):
        if message.role in ("user", "assistant") and not is_abandoned(message):
            found.append(_without_secrets(message))
            room -= len(found[-1].content)
            if room < 0:
                return found[-2::-1]
    return found[::-1]


def _read_end(row: ConversationRow) -> Sequence[SessionMessage]:
    """Return the last messages of a conversation. The rest is not read."""
    if not row.tool:
        return FolderStore(row.workspace).tail(row.path, _END_MESSAGES)
    if row.is_log:
        store = open_session_store(f"log:{os.path.dirname(row.path)}")
        return store.tail(row.key, _END_MESSAGES)
    found = transcript_at(row.tool, row.key, row.path) if os.path.exists(row.path) else None
    return read_last_messages(*found, size=_END_BYTES, count=_END_MESSAGES) if found else ()


def _without_secrets(message: SessionMessage) -> SessionMessage:
    """Return a message with a placeholder for each secret, and without the middle of a long text.

    Secrets are replaced first, because half a secret would not be recognized.
    """
    text = message.content
    if could_hold(text):
        # Import late: the rules take 8 ms to load, and few messages need them.
        from cortext.model.secrets.detector import mask_text

        text = mask_text(text)[0]
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return message if text is message.content else replace(message, content=text)


def _to_fact(row: ConversationRow, kind: str, when: datetime, text: str) -> _DatedFact:
    id = row.key[:_SHORT_ID] if row.tool and not row.is_standalone else row.key
    try:
        day = when.astimezone().strftime("%Y-%m-%d")
    except OverflowError:
        day = when.strftime("%Y-%m-%d")  # the last day of the calendar
    return _DatedFact(when, RecallFact(kind, day, id, shown(text)))
