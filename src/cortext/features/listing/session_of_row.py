"""Read the session that a row of a list describes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.errors import SessionNotFoundError
from cortext.features.capture.transcripts import Found, find_transcript, transcript_at
from cortext.formats.message_lines import Damage
from cortext.model.session import Session
from cortext.stores.folder import FolderStore
from cortext.stores.store_registry import open_session_store


class LoadedRow(NamedTuple):
    """The session that a row of a list describes, with all messages.

    `damages` lists the damage in the session's files. `path` is the path of the file or folder that
    was read. `side` has the sessions of the session's sub-agents.
    """

    session: Session
    damages: Sequence[Damage]
    path: str
    side: Sequence[Session] = ()


def read(row: ConversationRow, longest: int | None = None) -> tuple[Session, Sequence[Damage]]:
    """Return the session of a row, and the damage in its files.

    If `longest` is given, each tool result with more than `longest` characters is shortened to its
    start and end. This applies only to transcripts of AI tools. Raises SessionNotFoundError if the
    session does not exist any more.
    """
    return read_all(row, longest)[:2]


def read_all(row: ConversationRow, longest: int | None = None) -> LoadedRow:
    """Return the session of a row as `read` does, with its path and the sessions of its sub-agents.

    A transcript that the tool has deleted is read from the archive.
    """
    if row.tool and not row.is_standalone:
        return read_from(row, transcript_of(row), longest)
    found = _read_standalone(row) if row.tool else _read_conversation(row)
    found.session.title = found.session.title or row.title
    if (row.status, found.session.status) == ("paused", "active"):
        found.session.status = "paused"  # lists show idle sessions as paused before the file does
    return found


def _read_conversation(row: ConversationRow) -> LoadedRow:
    session, damages = FolderStore(row.workspace).read(row.path)
    return LoadedRow(session, damages, row.place.session)


def transcript_of(row: ConversationRow) -> Found:
    """Return the transcript of a tool session, and the tool's reader for it.

    Raises SessionNotFoundError if neither the tool nor the archive has the transcript.
    """
    return _require_transcript(row, transcript_at(row.tool, row.key, row.path))


def read_from(row: ConversationRow, found: Found, longest: int | None = None) -> LoadedRow:
    """Return the session of a row as `read_all` does, but read it from the transcript `found`."""
    bridge, source = found
    try:
        decoded = bridge.decode(source, longest=longest)
    except FileNotFoundError:
        # The file was moved or deleted after it was found.

        bridge, source = _require_transcript(row, find_transcript(row.tool, row.key))
        decoded = bridge.decode(source, longest=longest)
    # A transcript does not say whether its session is active.
    decoded.session.status = "active" if row.status == "active" else "paused"
    # The row's title is made from both ends of the transcript. Lists show it, so show it here too.
    decoded.session.title = row.title or decoded.session.title
    return LoadedRow(decoded.session, decoded.damages, source.path, decoded.side)


def _read_standalone(row: ConversationRow) -> LoadedRow:
    """Read a session of `aur spawn` or of another program from its file.

    Write nothing: a folder that does not exist any more is not created again.
    """
    folder = os.path.dirname(row.path)
    if not os.path.isdir(folder):
        raise SessionNotFoundError(row.key, path=row.path)

    kind = "log" if row.is_log else "document"
    session, damages = open_session_store(f"{kind}:{folder}").read(row.key)
    return LoadedRow(session, damages, row.path)


def _require_transcript(row: ConversationRow, found: Found | None) -> Found:
    if found is None:
        error = SessionNotFoundError(row.key, path=row.path)
        error.hint = "its transcript is neither in the tool nor in the archive"
        raise error
    return found
