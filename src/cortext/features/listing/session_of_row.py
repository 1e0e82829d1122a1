"""Reading any row of a list: a conversation of a workspace, or a session that belongs to none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.errors import SessionNotFoundError
from cortext.features.capture.transcripts import Found, find_transcript, transcript_at
from cortext.formats.record_lines import Damage
from cortext.model.session import Session
from cortext.stores.folder import FolderStore
from cortext.stores.store_registry import open_session_store


class LoadedRow(NamedTuple):
    """What is in a row: the session, what is wrong with it, where it was read from, and the
    conversations of its sub-agents."""

    session: Session
    damages: Sequence[Damage]
    path: str
    side: Sequence[Session] = ()


def read(row: ConversationRow, longest: int | None = None) -> tuple[Session, Sequence[Damage]]:
    """The session of a row and all that is wrong with it. Of a tool's results above `longest`
    characters only the ends are kept. SessionNotFoundError if it is nowhere any more."""
    return read_all(row, longest)[:2]


def read_all(row: ConversationRow, longest: int | None = None) -> LoadedRow:
    """As `read`, with what else there is. What a tool has no more is read from the archive."""
    if row.tool and not row.is_standalone:
        return read_from(row, transcript_of(row), longest)
    found = _read_apart(row) if row.tool else _read_conversation(row)
    if (row.status, found.session.status) == ("paused", "active"):
        found.session.status = "paused"  # it rests, which lists say before it is written
    return found


def _read_conversation(row: ConversationRow) -> LoadedRow:
    session, damages = FolderStore(row.workspace).read(row.path)
    return LoadedRow(session, damages, row.place.session)


def transcript_of(row: ConversationRow) -> Found:
    """The transcript of a tool's session; SessionNotFoundError if it is nowhere any more."""
    return _found(row, transcript_at(row.tool, row.key, row.path))


def read_from(row: ConversationRow, found: Found, longest: int | None = None) -> LoadedRow:
    """As `read_all`, from a transcript that was there just now."""
    bridge, source = found
    try:
        decoded = bridge.decode(source, longest=longest)
    except FileNotFoundError:
        # It went away between looking and reading.

        bridge, source = _found(row, find_transcript(row.tool, row.key))
        decoded = bridge.decode(source, longest=longest)
    # A transcript does not say whether its session goes on.
    decoded.session.status = "active" if row.status == "active" else "paused"
    return LoadedRow(decoded.session, decoded.damages, source.path, decoded.side)


def _read_apart(row: ConversationRow) -> LoadedRow:
    """A session of `aur spawn`, or one that a program keeps, from its own file. Nothing is written,
    also not the folder that it was in."""
    folder = os.path.dirname(row.path)
    if not os.path.isdir(folder):
        raise SessionNotFoundError(row.key, path=row.path)

    kind = "log" if row.is_log else "document"
    session, damages = open_session_store(f"{kind}:{folder}").read(row.key)
    return LoadedRow(session, damages, row.path)


def _found(row: ConversationRow, found: Found | None) -> Found:
    if found is None:
        missing = SessionNotFoundError(row.key, path=row.path)
        missing.hint = "neither the tool nor our archive has its transcript any more"
        raise missing
    return found
