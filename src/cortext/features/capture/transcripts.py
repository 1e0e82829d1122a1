"""Where the transcript of a tool's session is now: with the tool, or in our archive."""

from __future__ import annotations

import os
import re

from cortext.tools import jsonl, scan
from cortext.tools.protocol import Bridge, Source
from cortext.tools.registry import open_bridge

Found = tuple[Bridge, Source]
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_HEAD = 4096
"""Bytes at the beginning of a transcript that have its id."""


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
    given = os.environ.get("OPENCODE_DB", "") if tool == "opencode" else ""
    if given and real == os.path.realpath(os.path.join(homes[0], given)):
        return True
    return any(real.startswith(f"{os.path.realpath(home)}/") for home in homes)


def _at(tool: str, id: str, path: str) -> Found | None:
    """The transcript in a file of its own; OpenCode's sessions share one, and may leave it."""
    if not path or tool == "opencode" or not is_own(tool, path):
        return None
    try:
        found = os.stat(path)
        named = _is_named(tool, id, path)
    except OSError:
        return None
    if not named:
        return None
    mark = f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"
    bridge = open_bridge(tool, scan.home_of(tool, path))
    return bridge, Source(tool, id, path, found.st_size, mark)


def _is_named(tool: str, id: str, path: str) -> bool:
    """Whether a file says that it is the transcript of this session. Names of Gemini CLI have only
    the beginning of an id: the file itself has all of it."""
    name = jsonl.plain(os.path.basename(path))
    if tool == "claude":
        return name == f"{id}.jsonl"
    if tool == "codex":
        stem, _, ending = name.partition(".jsonl")
        return bool(id) and f"-{id}" in stem and ending in ("", ".zst")
    if name.rpartition(".")[0] == id:
        return True  # an old one that has no other
    said = _ID.search(jsonl.read_head(path, _HEAD))
    return said is not None and said[1] == id.encode("utf-8", "surrogatepass")


def _among(tool: str, id: str, home: str | None, path: str = "") -> Found | None:
    """Of several, the one with this path, else the largest."""
    bridge = open_bridge(tool, home)
    found = [source for source in bridge.sources() if source.id == id]
    best = max(found, key=lambda source: (source.path == path, source.size), default=None)
    return (bridge, best) if best else None
