"""The sessions of tools that a conversation was had in, and which of them holds all of it."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.features.capture.bindings import digest_of, is_sound, within
from cortext.features.capture.transcripts import own_transcript
from cortext.formats.message_history import is_abandoned
from cortext.model.json_values import parse_time
from cortext.workspace.workspace import Workspace

if TYPE_CHECKING:
    from cortext.model.session import Session
    from cortext.tools.protocol import Bridge, TranscriptSource

_SHORT = 1000  # characters of a result are enough to know the message that holds it


class Native(NamedTuple):
    """A session that a tool has now, in which a conversation was had."""

    id: str
    path: str
    cwd: str


def find_native(row: ConversationRow, tool: str) -> Native | None:
    """The latest session of a tool that it still has, with all of the conversation in it."""
    if row.tool and row.tool != tool:
        return None
    for entry in reversed(entries_of(row)):
        if entry.get("tool") != tool or not is_sound(entry) or entry.get("to"):
            continue
        found = own_transcript(tool, str(entry["session_id"]), str(entry.get("path") or ""))
        if found is None:
            continue
        bridge, source = found
        folder = bridge.glance(source).cwd or source.cwd
        if os.path.isdir(folder) and (row.tool or holds_all(row, entry, bridge, source)):
            return Native(source.id, source.path, folder)
    return None


def entries_of(row: ConversationRow) -> list[dict[str, Any]]:
    """The tool sessions of a row, as a head's `native` has them."""
    if row.is_standalone:
        return []
    if row.tool:
        return [{"tool": row.tool, "session_id": row.key, "path": row.path}]
    return head_of(row).native if row.status else []


def head_of(row: ConversationRow) -> Session:
    """The head of a conversation of a workspace."""
    return Workspace(row.workspace).store.head_at(row.place)


def holds_all(
    row: ConversationRow, entry: dict[str, Any], bridge: Bridge, source: TranscriptSource
) -> bool:
    """Whether all of a conversation is in a session: a part of it may have been said in another,
    also before that one was told of it, on a machine that we did not hear of then."""
    session, _ = Workspace(row.workspace).store.read(row.path)
    said = bridge.decode(source, longest=_SHORT).session.messages
    live = [message for message in session.messages if not is_abandoned(message)]
    if "held" in entry:
        own = {message.id for message in within(entry, said)}
        return digest_of(m.id for m in live if m.id not in own) == entry["held"]
    since = _time(str(entry.get("from") or ""))
    have = {message.id for message in said}
    return all(m.id in have for m in live if since is None or m.timestamp > since)


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None
