"""Where the transcript of a tool's session is now: with the tool, or in our archive."""

from __future__ import annotations

import os

from cortext.tools import scan
from cortext.tools.protocol import Bridge, NamesFiles, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge

Found = tuple[Bridge, TranscriptSource]


def find_transcript(tool: str, id: str, path: str = "", *, search: bool = False) -> Found | None:
    """The transcript of a session, with what reads it: where it was, else wherever the tool has it
    now, else our own copy of it. With `search` the tool is asked first: it may have gone on in
    another file."""
    there = _at(tool, id, path)
    if there and not search:
        return there
    return own_transcript(tool, id) or there or _among(tool, id, scan.archive_home(tool))


def own_transcript(tool: str, id: str, path: str = "") -> Found | None:
    """A transcript that the tool itself has now; our archive does not count."""
    return _among(tool, id, None, path)


def is_own(tool: str, path: str) -> bool:
    """Whether a file is below the folder of a tool, or of our copy of it. A path may come from a
    workspace that somebody else wrote: it must not make us read anything else."""
    real = os.path.realpath(path)
    homes = [scan.own_home(tool), scan.archive_home(tool)]
    given = find_tool(tool).named_database
    if given and real == os.path.realpath(given):
        return True
    return any(real.startswith(f"{os.path.realpath(home)}/") for home in homes)


def _at(tool: str, id: str, path: str) -> Found | None:
    """Return the transcript in a file, if the reader can tell that the file is its transcript."""
    if not path or not is_own(tool, path):
        return None
    bridge = open_bridge(tool, scan.home_of(tool, path))
    if not isinstance(bridge, NamesFiles):
        return None
    try:
        found = os.stat(path)
        named = bridge.is_transcript_of(id, path)
    except OSError:
        return None
    if not named:
        return None
    mark = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
    return bridge, TranscriptSource(tool, id, path, found.st_size, mark)


def _among(tool: str, id: str, home: str | None, path: str = "") -> Found | None:
    """Of several, the one with this path, else the largest."""
    bridge = open_bridge(tool, home)
    found = [source for source in bridge.sources() if source.id == id]
    best = max(found, key=lambda source: (source.path == path, source.size), default=None)
    return (bridge, best) if best else None
