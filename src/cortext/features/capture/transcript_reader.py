"""Going on with the transcript of a tool's session from where it was last read to."""

from __future__ import annotations

from cortext.errors import CortextError
from cortext.features.capture.transcripts import Found, find_transcript, is_own
from cortext.tools import scan
from cortext.tools.incremental import ChangedRows, FilePosition, Follows, FollowsRows, end_of, since
from cortext.tools.protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge


def transcript_at(tool: str, id: str, path: str) -> Found | None:
    """As `find_transcript`. Of a database it is not asked whether it has the session: that takes
    longer than to read one."""
    if find_tool(tool).has_databases and path.endswith(".db") and is_own(tool, path):
        return open_bridge(tool, scan.home_of(tool, path)), TranscriptSource(tool, id, path, 0, "")
    return find_transcript(tool, id, path)


def find_model(tool: str, id: str, path: str = "") -> str:
    """Return the model that a transcript names near its end; "" if it names none."""
    try:
        found = transcript_at(tool, id, path)
        return found[0].glance(found[1]).model if found else ""
    except (OSError, CortextError):
        return ""  # reading all of it says what is wrong


def read_new_messages(
    bridge: Bridge, source: TranscriptSource, mark: FilePosition
) -> ChangedRows | None:
    """What was said since a mark; None where all of it has to be read."""
    if isinstance(bridge, FollowsRows):
        return bridge.changed(source, mark)
    if not isinstance(bridge, Follows) or (lately := since(source.path, mark)) is None:
        return None
    said = bridge.follow(source, lately) if lately.after else ()
    return None if said is None else ChangedRows((), said, lately.mark)


def current_position(bridge: Bridge, source: TranscriptSource) -> FilePosition | None:
    """Where it ends, without the number of its lines; None if nobody can go on from there."""
    if isinstance(bridge, Follows):
        return end_of(source.path)
    return bridge.latest(source) if isinstance(bridge, FollowsRows) else None


def beside(bridge: Bridge, source: TranscriptSource) -> str | None:
    """What changes with the conversations of its sub-agents; None where that is not known."""
    return bridge.beside(source) if isinstance(bridge, Follows | FollowsRows) else None
