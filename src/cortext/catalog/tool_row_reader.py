"""Read new and changed transcripts of AI tools and make their catalog rows.

A refresh only *glances* at a transcript: it reads the beginning and the end of the file to get the
title and the times.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import msgspec

from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import StoredRow
from cortext.catalog.row_text_redaction import replace_nul, shown, told
from cortext.errors import CortextError, why
from cortext.tools import transcript_folders
from cortext.tools.reader_protocol import Bridge, Glance, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge

_SEARCHED_SIZE = 1 << 22
"""The largest transcript, in bytes, that a glance searches completely for a user's request.

If a glance finds no request in such a transcript, there is none.
"""
_HIGHEST_COMPRESSION = 32
"""The highest ratio by which compression may shrink a transcript."""

_NO_BRANCH = "HEAD"
"""The name that tools record if a commit is checked out, and not a branch."""


class NewToolRows(msgspec.Struct, frozen=True):
    """The changes that a refresh of tool sessions found.

    `new` has the new and changed rows, by tool and session id. `gone` has the ids of deleted
    sessions, by tool. `left` is the number of changed sessions that were not read before the time
    limit.
    """

    new: dict[str, dict[str, StoredRow]]
    gone: dict[str, list[str]]
    left: int


class _Candidate(msgspec.Struct, frozen=True):
    """A transcript from which the catalog row of a session can be made.

    `source` says where the transcript is, and `bridge` can read it. `fingerprint` is the text that
    the catalog stores to notice changes. `time` is the modification time in nanoseconds since 1970.
    """

    bridge: Bridge
    source: TranscriptSource
    fingerprint: str
    time: int


class _ToolHome:
    """The transcripts of a tool below one folder, `home`.

    `sessions` maps each session id to the transcripts of the session, the latest first. The folder
    is searched when `sessions` is first used.
    """

    def __init__(self, tool: str, home: str) -> None:
        self.tool, self._home = tool, home

    @cached_property
    def sessions(self) -> dict[str, list[_Candidate]]:
        found: dict[str, list[_Candidate]] = {}
        for candidate in sorted(
            self._candidates(), key=lambda candidate: candidate.time, reverse=True
        ):
            found.setdefault(candidate.source.id, []).append(candidate)
        return found

    def _candidates(self) -> list[_Candidate]:
        own = self._home == transcript_folders.own_home(self.tool)
        # A bridge follows environment variables only for the tool's own folder.
        bridge = open_bridge(self.tool, None if own else self._home)
        beside = transcript_folders.companions_fingerprint(self.tool, self._home)
        candidates: list[_Candidate] = []
        try:
            for source in bridge.sources():
                if shown(source.id) != source.id:
                    transcript_folders.warn(
                        "skipped %s: its id contains characters that cannot be shown", source.path
                    )
                    continue
                fingerprint = "\0".join((source.path, source.print, source.cwd, beside))
                candidates.append(_Candidate(bridge, source, fingerprint, _modified_at(source)))
        except (OSError, CortextError) as error:
            transcript_folders.warn("skipped %s: %s", self._home, why(error))
        return candidates


class _Session(msgspec.Struct, frozen=True):
    """One session of an AI tool. `key` is the pair of tool and session id.

    `found` has the transcripts of the session, the latest first. `archive` has cortext's copies of
    all transcripts of the tool, including those of this session.
    """

    key: tuple[str, str]
    found: list[_Candidate]
    archive: _ToolHome

    def all(self) -> Iterator[_Candidate]:
        """Yield the transcripts of the session, then cortext's copies of them."""
        yield from self.found
        copies = self.archive.sessions.get(self.key[1], [])
        if copies is not self.found:
            yield from copies


def read_changed_sessions(
    folder_states: Mapping[tuple[str, str], transcript_folders.FolderState],
    known: Mapping[str, Mapping[str, str]],
    deleted: Collection[tuple[str, str]],
    patience: float | None,
) -> NewToolRows:
    """Make catalog rows for the sessions whose transcripts changed, the latest sessions first.

    `folder_states` has the state of each folder, by tool and path. `known` has the fingerprints in
    the catalog, by tool and session id. Sessions in `deleted` (pairs of tool and id) get no row.
    Reading stops after about `patience` seconds; None means no limit. If the tool's own transcript
    exists, it is used, and not the copy in cortext's archive.
    """
    found_sessions = (session for tool in known for session in _find_sessions(tool, folder_states))
    sessions = {session.key: session for session in found_sessions if session.key not in deleted}
    changed = [
        session
        for (tool, id), session in sessions.items()
        if known[tool].get(id) != session.found[0].fingerprint
    ]
    changed.sort(key=lambda session: session.found[0].time, reverse=True)
    deadline = None if patience is None else time.monotonic() + patience
    new: dict[str, dict[str, StoredRow]] = {tool: {} for tool in known}
    count = 0
    for session in changed:
        if deadline is not None and time.monotonic() >= deadline:
            break
        tool, id = session.key
        new[tool][id] = _row(session)
        count += 1
    gone = {tool: [id for id in ids if (tool, id) not in sessions] for tool, ids in known.items()}
    return NewToolRows(new, gone, len(changed) - count)


def read_session_row(bridge: Bridge, source: TranscriptSource) -> ConversationRow | None:
    """Return the catalog row that a refresh makes from a transcript.

    Return None if the session is not shown in lists, for example because it has no request.
    """
    return _read_row(_Candidate(bridge, source, "", _modified_at(source)))[0]


def _find_sessions(
    tool: str, folder_states: Mapping[tuple[str, str], transcript_folders.FolderState]
) -> Iterator[_Session]:
    """Yield the sessions in a tool's own folder, then the sessions that only the archive has."""
    homes = transcript_folders.own_home(tool), transcript_folders.archive_home(tool)
    own, archive = (_ToolHome(tool, home) for home in homes)
    names = [folder_states[tool, home].names for home in homes]
    for id, found in own.sessions.items():
        yield _Session((tool, id), found, archive)
    # A copy has the name of its original. Skip the archive if all originals still exist.
    if names[1] and (find_tool(tool).has_databases or not names[1] <= names[0]):
        for id, found in archive.sessions.items():
            if id not in own.sessions:
                yield _Session((tool, id), found, archive)


def _modified_at(source: TranscriptSource) -> int:
    """Return the time when a transcript last changed, in nanoseconds since 1970; 0 if unknown.

    The text `source.print` begins with this time. If the tool stores its sessions in a database,
    the text has milliseconds, which are converted to nanoseconds.
    """
    first = source.print.partition("-")[0]
    number = int(first) if first.isascii() and first.isdecimal() and len(first) < 20 else 0
    return number * 1_000_000 if len(first) < 15 else number


def _row(session: _Session) -> StoredRow:
    """Return the row of a session, made from its first readable transcript.

    If no transcript is readable, the row is made from the first one, with a note about the problem.
    """
    rows: list[ConversationRow | None] = []
    # With this fingerprint, an unreadable transcript is not tried again until it changes.
    fingerprint = session.found[0].fingerprint
    for candidate in session.all():
        row, readable = _read_row(candidate)
        if readable:
            return StoredRow(fingerprint, row)
        rows.append(row)
    return StoredRow(fingerprint, rows[0])


def _read_row(candidate: _Candidate) -> tuple[ConversationRow | None, bool]:
    """Return the row of a transcript, and whether the transcript is readable.

    The row is None if lists do not show the session: it belongs to a sub-agent, has no request, is
    empty or is gone.
    """
    source = candidate.source
    try:
        if transcript_folders.is_side(source):
            return None, True
        glance = candidate.bridge.glance(source)
    except FileNotFoundError:
        return None, False
    except (OSError, CortextError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        transcript_folders.warn("%s cannot be read: %s", source.path, reason)
        return _to_row(candidate, None, f"{source.path}: {reason.lower()}"), False
    if not (glance.title or glance.started_at):
        note = f"{source.path}: nothing in the file can be read"
        return (_to_row(candidate, None, note) if source.size else None), False
    if not glance.title and source.size <= _searched_size(source.path):
        return None, True
    return _to_row(candidate, glance, ""), True


def _searched_size(path: str) -> int:
    return _SEARCHED_SIZE // _HIGHEST_COMPRESSION if path.endswith(".gz") else _SEARCHED_SIZE


def _to_row(candidate: _Candidate, glance: Glance | None, note: str) -> ConversationRow:
    source = candidate.source
    active = micros(glance.updated_at) if glance else candidate.time // 1000
    started = glance.started_at if glance else None
    return ConversationRow(
        tool=source.tool,
        path=source.path,
        key=source.id,
        status="paused",
        last_active=active,
        kind="chat",
        title=(told(glance.title) if glance else "") or f"session {source.id[:8]}",
        note=shown(note),
        created_at=micros(started) if started else active,
        model=shown(glance.model) if glance else "",
        agent=source.tool,
        branch=_branch_of(glance) if glance else "",
        working_dir=replace_nul((glance.cwd if glance else "") or source.cwd),
        # Two lines can have the same time, so only the fingerprint shows every added line.
        fingerprint=shown(source.print),
    )


def _branch_of(glance: Glance) -> str:
    """Return the git branch of a session; "" if no branch was checked out."""
    return "" if glance.branch == _NO_BRANCH else told(glance.branch)
