"""Make catalog rows from the transcripts of AI tools that are new or changed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from cortext.catalog.database import micros
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import StoredRow
from cortext.catalog.sanitize import folder_named, shown, told
from cortext.errors import CortextError, why
from cortext.tools import transcript_folders
from cortext.tools.reader_protocol import Bridge, Glance, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge

_SEEN_WHOLE = 1 << 22
"""The size in bytes up to which a glance searches a whole transcript for a request.

If a glance at a transcript of this size finds no request, the transcript has none.
"""
_PACKED = 32
"""How many times smaller a compressed transcript may be."""


class NewToolRows(NamedTuple):
    """The changes of a refresh.

    `new` has the new and changed rows and `gone` the ids of deleted sessions, both by tool. `left`
    is the number of changed sessions that were not read.
    """

    new: dict[str, dict[str, StoredRow]]
    gone: dict[str, list[str]]
    left: int


class _Candidate(NamedTuple):
    """A transcript, with the fingerprint that the catalog stores and its modification time."""

    bridge: Bridge
    source: TranscriptSource
    fingerprint: str
    time: int


class _ToolHome:
    """The transcripts below one folder, by session id, the latest first.

    The folder is searched when `sessions` is first used.
    """

    def __init__(self, tool: str, home: str) -> None:
        self.tool, self._home = tool, home

    @cached_property
    def sessions(self) -> dict[str, list[_Candidate]]:
        found: dict[str, list[_Candidate]] = {}
        for one in sorted(self._candidates(), key=lambda one: one.time, reverse=True):
            found.setdefault(one.source.id, []).append(one)
        return found

    def _candidates(self) -> list[_Candidate]:
        own = self._home == transcript_folders.own_home(self.tool)
        # A bridge follows environment variables only for the tool's own folder.
        bridge = open_bridge(self.tool, None if own else self._home)
        beside = transcript_folders.mark_beside(self.tool, self._home)
        found: list[_Candidate] = []
        try:
            for source in bridge.sources():
                if shown(source.id) != source.id:
                    transcript_folders.warn(
                        "%s is passed over: its id cannot be shown", source.path
                    )
                    continue
                fingerprint = "\0".join((source.path, source.print, source.cwd, beside))
                found.append(_Candidate(bridge, source, fingerprint, _time(source)))
        except (OSError, CortextError) as error:
            transcript_folders.warn("%s is passed over: %s", self._home, why(error))
        return found


class _Session(NamedTuple):
    """One session: its transcripts, the best first, and the archive that may have a copy."""

    key: tuple[str, str]
    found: list[_Candidate]
    archive: _ToolHome

    def all(self) -> Iterator[_Candidate]:
        yield from self.found
        copies = self.archive.sessions.get(self.key[1], [])
        if copies is not self.found:
            yield from copies


def glance_at(
    looks: Mapping[tuple[str, str], transcript_folders.FolderState],
    known: Mapping[str, Mapping[str, str]],
    deleted: Collection[tuple[str, str]],
    patience: float | None,
) -> NewToolRows:
    """Read the transcripts whose fingerprints are not in `known`, the latest first.

    Reading stops after about `patience` seconds; None is no limit. Each session gets one row. The
    tool's own transcript is preferred to the copy in the archive. Sessions in `deleted` get no row.
    """
    there = (session for tool in known for session in _sessions(tool, looks))
    sessions = {session.key: session for session in there if session.key not in deleted}
    changed = [
        one
        for (tool, id), one in sessions.items()
        if known[tool].get(id) != one.found[0].fingerprint
    ]
    changed.sort(key=lambda session: session.found[0].time, reverse=True)
    end = None if patience is None else time.monotonic() + patience
    new: dict[str, dict[str, StoredRow]] = {tool: {} for tool in known}
    count = 0
    for session in changed:
        if end is not None and time.monotonic() >= end:
            break
        tool, id = session.key
        new[tool][id] = _row(session)
        count += 1
    gone = {tool: [id for id in ids if (tool, id) not in sessions] for tool, ids in known.items()}
    return NewToolRows(new, gone, len(changed) - count)


def _sessions(
    tool: str, looks: Mapping[tuple[str, str], transcript_folders.FolderState]
) -> Iterator[_Session]:
    """Yield the sessions in a tool's own folder, then those that only the archive has."""
    homes = transcript_folders.own_home(tool), transcript_folders.archive_home(tool)
    own, archive = (_ToolHome(tool, home) for home in homes)
    names = [looks[tool, home].names for home in homes]
    for id, found in own.sessions.items():
        yield _Session((tool, id), found, archive)
    # A copy has the name of its original. Skip the archive if all originals still exist.
    if names[1] and (find_tool(tool).has_databases or not names[1] <= names[0]):
        for id, found in archive.sessions.items():
            if id not in own.sessions:
                yield _Session((tool, id), found, archive)


def _time(source: TranscriptSource) -> int:
    """Return when a transcript changed, in nanoseconds, from its fingerprint; 0 if unknown.

    The fingerprint of a database session has milliseconds, which are converted.
    """
    first = source.print.partition("-")[0]
    when = int(first) if first.isascii() and first.isdecimal() and len(first) < 20 else 0
    return when * 1_000_000 if len(first) < 15 else when


def _row(session: _Session) -> StoredRow:
    """Return the row of the first readable transcript, or of the first one if none is readable."""
    rows: list[ConversationRow | None] = []
    # With this fingerprint, an unreadable transcript is not tried again until it changes.
    fingerprint = session.found[0].fingerprint
    for one in session.all():
        row, readable = _glance(one)
        if readable:
            return StoredRow(fingerprint, row)
        rows.append(row)
    return StoredRow(fingerprint, rows[0])


def _glance(one: _Candidate) -> tuple[ConversationRow | None, bool]:
    """Return the row of a transcript, or None if it is not listed, and whether it is readable."""
    source = one.source
    try:
        if transcript_folders.is_side(source):
            return None, True
        seen = one.bridge.glance(source)
    except FileNotFoundError:
        return None, False
    except (OSError, CortextError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        transcript_folders.warn("%s cannot be read: %s", source.path, reason)
        return _to_row(one, None, f"{source.path}: {reason.lower()}"), False
    if not (seen.title or seen.started_at):
        note = f"{source.path}: nothing in it can be read"
        return (_to_row(one, None, note) if source.size else None), False
    if not seen.title and source.size <= _seen_whole(source.path):
        return None, True
    return _to_row(one, seen, ""), True


def _seen_whole(path: str) -> int:
    return _SEEN_WHOLE // _PACKED if path.endswith(".gz") else _SEEN_WHOLE


def _to_row(one: _Candidate, seen: Glance | None, note: str) -> ConversationRow:
    source = one.source
    active = micros(seen.updated_at) if seen else one.time // 1000
    started = seen.started_at if seen else None
    return ConversationRow(
        tool=source.tool,
        path=source.path,
        key=source.id,
        status="paused",
        last_active=active,
        kind="chat",
        title=(told(seen.title) if seen else "") or f"session {source.id[:8]}",
        note=shown(note),
        created_at=micros(started) if started else active,
        model=shown(seen.model) if seen else "",
        agent=source.tool,
        working_dir=folder_named((seen.cwd if seen else "") or source.cwd),
        # Two lines can have the same time, so only the fingerprint shows every added line.
        fingerprint=shown(source.print),
    )
