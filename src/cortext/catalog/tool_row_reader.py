"""Read new and changed transcripts of AI tools and make their catalog rows.

A refresh only *glances* at a transcript: it reads the ends of the file to get the title and times.
"""

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
"""The size in bytes up to which a glance searches the whole transcript for a user's request.

A transcript of at most this size has no request if the glance finds none.
"""
_PACKED = 32
"""The highest ratio by which compression may shrink a transcript."""


class NewToolRows(NamedTuple):
    """The changes that a refresh of tool sessions found.

    `new` has the new and changed rows, by tool and session id. `gone` has the ids of deleted
    sessions, by tool. `left` is the number of changed sessions that there was no time to read.
    """

    new: dict[str, dict[str, StoredRow]]
    gone: dict[str, list[str]]
    left: int


class _Candidate(NamedTuple):
    """A transcript that may give a session its row.

    `fingerprint` is the text that the catalog stores, and `time` is the modification time.
    """

    bridge: Bridge
    source: TranscriptSource
    fingerprint: str
    time: int


class _ToolHome:
    """The transcripts of a tool below one folder.

    `sessions` has them by session id, the latest first. The folder is searched when `sessions` is
    first used.
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
    """One tool session: its transcripts, the latest first, and the archive that may have a copy."""

    key: tuple[str, str]
    found: list[_Candidate]
    archive: _ToolHome

    def all(self) -> Iterator[_Candidate]:
        """Yield the transcripts of the session, then the copies in the archive."""
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
    """Make rows for the sessions whose transcripts changed, the latest first.

    `looks` has the state of each tool's folders. `known` has the fingerprints in the catalog, by
    tool and session id. Reading stops after about `patience` seconds; None means no limit. The
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
    """Yield the sessions in a tool's own folder, then the sessions that only the archive has."""
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
    """Return when a transcript changed, in nanoseconds since 1970; 0 if unknown.

    The time is part of the source's fingerprint. For a session in a database it is in milliseconds.
    """
    first = source.print.partition("-")[0]
    when = int(first) if first.isascii() and first.isdecimal() and len(first) < 20 else 0
    return when * 1_000_000 if len(first) < 15 else when


def _row(session: _Session) -> StoredRow:
    """Return the row of the session's first readable transcript.

    If no transcript is readable, return the row of the first one, which has a note about the
    problem.
    """
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
    """Return the row of a transcript, and whether the transcript is readable.

    The row is None if the transcript is not listed: it belongs to a sub-agent, has no request or is
    gone.
    """
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
