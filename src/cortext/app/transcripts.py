"""Where the transcript of a tool's session is now: with the tool, or in our archive."""

from __future__ import annotations

import os

from cortext.bridges import places
from cortext.bridges.port import Bridge, Source
from cortext.bridges.registry import open_bridge

Found = tuple[Bridge, Source]


def find_transcript(tool: str, id: str, path: str = "", *, search: bool = False) -> Found | None:
    """The transcript of a session, with what reads it: where it was, else wherever the tool has it
    now, else our own copy of it. With `search` the tool is asked first: it may have gone on in
    another file."""
    there = _at(tool, id, path)
    if there and not search:
        return there
    return own_transcript(tool, id) or there or _among(tool, id, places.archive_home(tool))


def own_transcript(tool: str, id: str, path: str = "") -> Found | None:
    """A transcript that the tool itself has now; our archive does not count."""
    return _among(tool, id, None, path)


def _at(tool: str, id: str, path: str) -> Found | None:
    """The transcript in a file of its own; OpenCode's sessions share one, and may leave it."""
    if not path or tool == "opencode":
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    mark = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
    bridge = open_bridge(tool, places.home_of(tool, path))
    return bridge, Source(tool, id, path, found.st_size, mark)


def _among(tool: str, id: str, home: str | None, path: str = "") -> Found | None:
    """Of several, the one with this path, else the largest."""
    bridge = open_bridge(tool, home)
    found = [source for source in bridge.sources() if source.id == id]
    best = max(found, key=lambda source: (source.path == path, source.size), default=None)
    return (bridge, best) if best else None
