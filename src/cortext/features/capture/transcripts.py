"""Transcripts of tool sessions: where a transcript is now, and its new messages.

A transcript is in the tool's own folder or, if the tool deleted it, in our archive.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortext.errors import CortextError, is_temporary
from cortext.model.message import SessionMessage
from cortext.tools import transcript_folders
from cortext.tools.new_transcript_lines import (
    FilePosition,
    Follows,
    FollowsLastRows,
    FollowsRows,
    MessageDelta,
    end_position,
    position_near_end,
    since,
)
from cortext.tools.reader_protocol import Bridge, NamesFiles, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge

Found = tuple[Bridge, TranscriptSource]
"""The reader of a tool, and a transcript of that tool."""


def find_transcript(tool: str, id: str, path: str = "", *, search: bool = False) -> Found | None:
    """Return the transcript of a tool session with its reader, or None if there is none.

    These places are searched in order: the file at `path`, the tool's own files, the archive. If
    `search` is true, the tool's own files are searched before `path`, because the tool may have
    continued the session in another file.
    """
    named = transcript_in_file(tool, id, path)
    if named and not search:
        return named
    return (
        own_transcript(tool, id)
        or named
        or _search_home(tool, id, transcript_folders.archive_home(tool))
    )


def own_transcript(tool: str, id: str, path: str = "") -> Found | None:
    """Return the current transcript of a session in the tool's own folder, or None.

    Copies in the archive are not searched. If the tool has several files of the session, the file
    at `path` is preferred.
    """
    return _search_home(tool, id, None, path)


def transcript_at(tool: str, id: str, path: str) -> Found | None:
    """Return the transcript of a session as `find_transcript` does, but faster for databases.

    If `path` is a database of the tool, the slow check that it contains the session is left out.
    """
    if find_tool(tool).has_databases and path.endswith(".db") and is_own(tool, path):
        return open_bridge(tool, transcript_folders.home_of(tool, path)), TranscriptSource(
            tool, id, path, 0, ""
        )
    return find_transcript(tool, id, path)


def is_own(tool: str, path: str) -> bool:
    """Return whether a file is in the folder of a tool, or in the archived copy of that folder.

    Only such files may be read, because the path may come from a workspace of another person.
    """
    real = os.path.realpath(path)
    homes = [transcript_folders.own_home(tool), transcript_folders.archive_home(tool)]
    given = find_tool(tool).named_database
    if given and real == os.path.realpath(given):
        return True
    return any(real.startswith(f"{os.path.realpath(home)}/") for home in homes)


def find_model(tool: str, id: str, path: str = "") -> str:
    """Return the model that a transcript names near its end, or "" if it names none."""
    try:
        found = transcript_at(tool, id, path)
        return found[0].glance(found[1]).model if found else ""
    except (OSError, CortextError):
        return ""  # a read of the whole transcript reports the error


def read_last_messages(
    bridge: Bridge, source: TranscriptSource, *, size: int, count: int
) -> Sequence[SessionMessage]:
    """Return the last messages of a transcript.

    About `size` bytes at the end of a file are read, or `count` rows of a database. If the end
    cannot be read alone, the whole transcript is read, but only if it has at most `size` bytes. The
    result is () for a larger transcript.
    """
    if isinstance(bridge, FollowsLastRows):
        position = bridge.near_end(source, count)
    else:
        position = position_near_end(source.path, size)
    found = read_new_messages(bridge, source, position) if position else None
    if found is not None:
        return [*found.again, *found.new]
    return bridge.decode(source).session.messages if 0 < source.size <= size else ()


def read_new_messages(
    bridge: Bridge, source: TranscriptSource, mark: FilePosition
) -> MessageDelta | None:
    """Return the messages of a transcript after the position `mark`.

    The result is None if the caller must decode the whole transcript instead.
    """
    if isinstance(bridge, FollowsRows):
        return bridge.changed(source, mark)
    if not isinstance(bridge, Follows) or (recent := since(source.path, mark)) is None:
        return None
    return bridge.follow(source, recent) if recent.after else MessageDelta((), (), recent.mark)


def current_position(bridge: Bridge, source: TranscriptSource) -> FilePosition | None:
    """Return the position at the end of a transcript, without counting its lines.

    The result is None if the reader cannot continue from this position.
    """
    if isinstance(bridge, Follows):
        return end_position(source.path)
    return bridge.latest(source) if isinstance(bridge, FollowsRows) else None


def beside(bridge: Bridge, source: TranscriptSource) -> str | None:
    """Return a fingerprint of the transcripts of a session's sub-agents.

    The fingerprint changes when one of these transcripts changes. The result is None if the reader
    of the tool can find the sub-agents only by decoding the session.
    """
    return bridge.beside(source) if isinstance(bridge, Follows | FollowsRows) else None


def transcript_in_file(tool: str, id: str, path: str) -> Found | None:
    """Return the transcript in the file `path`, or None if the file belongs to another session."""
    if not path or not is_own(tool, path):
        return None
    bridge = open_bridge(tool, transcript_folders.home_of(tool, path))
    if not isinstance(bridge, NamesFiles):
        return None
    try:
        status = os.stat(path)
        is_own_file = bridge.is_transcript_of(id, path)
    except OSError as error:
        if is_temporary(error.errno):
            raise
        return None
    if not is_own_file:
        return None
    fingerprint = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
    return bridge, TranscriptSource(tool, id, path, status.st_size, fingerprint)


def _search_home(tool: str, id: str, home: str | None, path: str = "") -> Found | None:
    """Return the transcript of a session below the folder `home`, or None.

    If the session has several files, choose the file at `path`. If none of them is at `path`,
    choose the largest file.
    """
    bridge = open_bridge(tool, home)
    found = [source for source in bridge.sources() if source.id == id]
    best = max(found, key=lambda source: (source.path == path, source.size), default=None)
    return (bridge, best) if best else None
