"""Find the tool sessions in which a conversation took place.

A tool can resume such a session directly if the session has the whole conversation.
"""

from __future__ import annotations

import os
from datetime import datetime

from msgspec import Struct

from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.features.capture.bindings import bound_messages, digest_ids, is_sound
from cortext.features.capture.transcripts import own_transcript
from cortext.formats.history_in_order import is_abandoned
from cortext.model.json_values import parse_time
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding, bindings_of
from cortext.stores.folder import FolderStore
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.workspace.moved_folders import moved_folders

_MAX_RESULT = 1000  # characters that are read of a tool result; enough to compare messages


class NativeSession(Struct, frozen=True):
    """An existing tool session in which a conversation took place, with its working folder."""

    id: str
    path: str
    cwd: str


def find_native_session(row: ConversationRow, tool: str) -> NativeSession | None:
    """Return the tool's latest session that has the whole conversation, or None.

    The working folder of the session must still exist, and must not have been moved.
    """
    if row.tool and row.tool != tool:
        return None
    for binding in reversed(row_bindings(row)):
        if binding.tool != tool or not is_sound(binding) or not binding.is_open:
            continue
        found = own_transcript(tool, binding.session_id, binding.path)
        if found is None:
            continue
        bridge, source = found
        glance = bridge.glance(source)
        folder = glance.cwd or source.cwd
        began = micros(glance.started_at) if glance.started_at else None
        # Tools find a session only in its own folder, so a moved session must be written again.
        is_moved = moved_folders().follow(folder, began) != folder
        if (
            not is_moved
            and os.path.isdir(folder)
            and (row.tool or has_whole_conversation(row, binding, bridge, source))
        ):
            return NativeSession(source.id, source.path, folder)
    return None


def row_bindings(row: ConversationRow) -> list[ToolBinding]:
    """Return the bindings of a conversation, which are its links to tool sessions.

    If `row` is a tool session without a conversation, return one binding to the whole session.
    Return [] for a session of `aur spawn` or of a program.
    """
    if row.is_standalone:
        return []
    if row.tool:
        return [ToolBinding(tool=row.tool, session_id=row.key, path=row.path)]
    return bindings_of(head_of(row)) if row.status else []


def head_of(row: ConversationRow) -> Session:
    """Return the head of a conversation, which is its session without the messages."""
    return FolderStore(row.workspace).head_at(row.place)


def has_whole_conversation(
    row: ConversationRow, binding: ToolBinding, bridge: Bridge, source: TranscriptSource
) -> bool:
    """Return whether a tool session has all messages of a conversation.

    `binding` links the session to the conversation. `source` is the transcript of the session, and
    `bridge` is its reader. The result is False if the conversation got messages from other sessions
    after it was bound to this session. A late message from another machine may have an old time.
    Therefore, if the binding has a digest of the message ids, compare the ids and not the times.
    """
    session, _ = FolderStore(row.workspace).read(row.path)
    in_session = bridge.decode(source, longest=_MAX_RESULT).session.messages
    live = [message for message in session.messages if not is_abandoned(message)]
    if binding.seen_digest is not None:
        own = {message.id for message in bound_messages(binding, in_session)}
        return digest_ids(m.id for m in live if m.id not in own) == binding.seen_digest
    since = _parse_start(binding.start)
    have = {message.id for message in in_session}
    return all(m.id in have for m in live if since is None or m.timestamp > since)


def _parse_start(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None
