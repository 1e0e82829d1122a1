"""Reading any row of a list: a conversation of a workspace, or a session of a tool."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext.bridges import places
from cortext.bridges.port import Bridge, Decoded, Source
from cortext.bridges.registry import open_bridge
from cortext.errors import SessionNotFoundError
from cortext.formats.records import Damage
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model.session import Session


class Read(NamedTuple):
    """What is in a row: the session, what is wrong with it, where it was read from, and the
    conversations of its sub-agents."""

    session: Session
    damages: Sequence[Damage]
    path: str
    side: Sequence[Session] = ()


def read(row: Listed, longest: int | None = None) -> tuple[Session, Sequence[Damage]]:
    """The session of a row and all that is wrong with it. Of a tool's results above `longest`
    characters only the ends are kept. SessionNotFoundError if it is nowhere any more."""
    return read_all(row, longest)[:2]


def read_all(row: Listed, longest: int | None = None) -> Read:
    """As `read`, with what else there is. What a tool has no more is read from the archive."""
    if not row.tool:
        session, damages = Workspace(row.root).store.read(row.path)
        return Read(session, damages, row.place.session)
    bridge, source = find_source(row)
    try:
        decoded = bridge.decode(source, longest=longest)
    except FileNotFoundError:
        # It went away between looking and reading.
        bridge, source = _elsewhere(row)
        decoded = _decode(bridge, source, longest)
    # A transcript does not say whether its session goes on.
    decoded.session.status = "active" if row.status == "active" else "paused"
    return Read(decoded.session, decoded.damages, source.path, decoded.side)


def _decode(bridge: Bridge, source: Source, longest: int | None) -> Decoded:
    try:
        return bridge.decode(source, longest=longest)
    except FileNotFoundError:
        raise SessionNotFoundError(source.id, path=source.path) from None


def find_source(row: Listed) -> tuple[Bridge, Source]:
    """Where the transcript of a tool's session is now, and what reads it: the tool's own if it
    still has one, else our copy. SessionNotFoundError if there is none."""
    home = places.home_of(row.tool, row.path)
    bridge = open_bridge(row.tool, home)
    try:
        size = os.stat(row.path).st_size
    except OSError:
        return _elsewhere(row)
    if row.tool == "opencode":
        # Its sessions share a file, so the file does not tell whether this one is there.
        found = next((one for one in bridge.sources() if one.id == row.key), None)
        return (bridge, found) if found else _elsewhere(row)
    return bridge, Source(row.tool, row.key, row.path, size, "", row.cwd)


def _elsewhere(row: Listed) -> tuple[Bridge, Source]:
    """Where it is if not where the row says: the tool may have moved it, or deleted it."""
    for home in (None, places.archive_home(row.tool)):
        bridge = open_bridge(row.tool, home)
        for source in bridge.sources():
            if source.id == row.key:
                return bridge, source
    missing = SessionNotFoundError(row.key, path=row.path)
    missing.hint = "neither the tool nor our archive has its transcript any more"
    raise missing
