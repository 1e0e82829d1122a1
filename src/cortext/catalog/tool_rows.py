"""What lists show of transcripts that changed."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from cortext.catalog.database import micros
from cortext.catalog.row import facts
from cortext.catalog.sanitize import folder_named, shown, told
from cortext.catalog.tool_sessions import Row
from cortext.errors import CortextError, why
from cortext.tools import scan
from cortext.tools.protocol import Bridge, Glance, Source
from cortext.tools.registry import find_tool, open_bridge

_SEEN_WHOLE = 1 << 22
"""A transcript of no more bytes has no request in it if a glance finds none."""
_PACKED = 32
"""How many times smaller a compressed one may be."""


class Found(NamedTuple):
    """What is new in some tools, the keys that are `gone`, and how many sessions that changed were
    not looked at."""

    new: list[Row]
    gone: list[tuple[str, str]]
    left: int


class _Candidate(NamedTuple):
    """A transcript, and what the catalog would know it by."""

    bridge: Bridge
    source: Source
    print: bytes
    time: int


class _Home:
    """The transcripts below one folder, by the ids of their sessions, the latest first. They are
    looked for when they are asked for."""

    def __init__(self, tool: str, home: str) -> None:
        self.tool, self._home = tool, home

    @cached_property
    def sessions(self) -> dict[str, list[_Candidate]]:
        found: dict[str, list[_Candidate]] = {}
        for one in sorted(self._candidates(), key=lambda one: one.time, reverse=True):
            found.setdefault(one.source.id, []).append(one)
        return found

    def _candidates(self) -> list[_Candidate]:
        own = self._home == scan.own_home(self.tool)
        # Only over its own folder a bridge heeds what the environment adds to it.
        bridge = open_bridge(self.tool, None if own else self._home)
        beside = scan.mark_beside(self.tool, self._home)
        found: list[_Candidate] = []
        try:
            for source in bridge.sources():
                if shown(source.id) != source.id:
                    scan.warn("%s is passed over: its id cannot be shown", source.path)
                    continue
                print = "\0".join((source.path, source.print, source.cwd, beside))
                data = print.encode("utf-8", "surrogateescape")
                found.append(_Candidate(bridge, source, data, _time(source)))
        except (OSError, CortextError) as error:
            scan.warn("%s is passed over: %s", self._home, why(error))
        return found


class _Session(NamedTuple):
    """One session: its transcripts, the best first, and where a copy may be."""

    key: tuple[str, str]
    found: list[_Candidate]
    archive: _Home

    def all(self) -> Iterator[_Candidate]:
        yield from self.found
        copies = self.archive.sessions.get(self.key[1], [])
        if copies is not self.found:
            yield from copies


def glance_at(
    looks: Mapping[tuple[str, str], scan.Look],
    known: Mapping[tuple[str, str], bytes],
    deleted: Collection[tuple[str, str]],
    patience: float | None,
) -> Found:
    """Look at the transcripts whose prints are not `known`, the latest first, for about `patience`
    seconds. One session has one row: the tool's own transcript is better than our copy. Of what a
    person `deleted` nothing is kept."""
    tools = {tool for tool, _ in looks}
    there = (session for tool in tools for session in _sessions(tool, looks))
    sessions = {session.key: session for session in there if session.key not in deleted}
    changed = [one for key, one in sessions.items() if known.get(key) != one.found[0].print]
    changed.sort(key=lambda session: session.found[0].time, reverse=True)
    end = None if patience is None else time.monotonic() + patience
    new: list[Row] = []
    for session in changed:
        if end is not None and time.monotonic() >= end:
            break
        new.append(_row(session))
    gone = [key for key in known if key[0] in tools and key not in sessions]
    return Found(new, gone, len(changed) - len(new))


def _sessions(tool: str, looks: Mapping[tuple[str, str], scan.Look]) -> Iterator[_Session]:
    """The sessions of a tool, each in the tool's own folder or else in our archive."""
    homes = scan.own_home(tool), scan.archive_home(tool)
    own, archive = (_Home(tool, home) for home in homes)
    names = [looks[tool, home].names for home in homes]
    for id, found in own.sessions.items():
        yield _Session((tool, id), found, archive)
    # Copies have the names of what they were made from: of what is there they need not be read.
    if names[1] and (find_tool(tool).has_databases or not names[1] <= names[0]):
        for id, found in archive.sessions.items():
            if id not in own.sessions:
                yield _Session((tool, id), found, archive)


def _time(source: Source) -> int:
    """When it changed, as far as its print tells; milliseconds of a database as nanoseconds."""
    first = source.print.partition("-")[0]
    when = int(first) if first.isascii() and first.isdecimal() and len(first) < 20 else 0
    return when * 1_000_000 if len(first) < 15 else when


def _row(session: _Session) -> Row:
    """The row of the first transcript that can be read; if none can, of the first."""
    rows: list[Row] = []
    for one in session.all():
        row, readable = _glance(one)
        if readable:
            # A later glance need not try what could not be read, until it changes.
            return row._replace(print=session.found[0].print)
        rows.append(row)
    return rows[0]


def _glance(one: _Candidate) -> tuple[Row, bool]:
    source = one.source
    try:
        if scan.is_side(source):
            return _to_row(one, None, ""), True
        seen = one.bridge.glance(source)
    except FileNotFoundError:
        return _to_row(one, None, ""), False
    except (OSError, CortextError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        scan.warn("%s cannot be read: %s", source.path, reason)
        return _to_row(one, None, f"{source.path}: {reason.lower()}"), False
    if not (seen.title or seen.started_at):
        note = f"{source.path}: nothing in it can be read"
        return _to_row(one, None, note if source.size else ""), False
    if not seen.title and source.size <= _seen_whole(source.path):
        return _to_row(one, None, ""), True
    return _to_row(one, seen, ""), True


def _seen_whole(path: str) -> int:
    return _SEEN_WHOLE // _PACKED if path.endswith(".gz") else _SEEN_WHOLE


def _to_row(one: _Candidate, seen: Glance | None, note: str) -> Row:
    source = one.source
    active = micros(seen.updated_at) if seen else one.time // 1000
    text = ""
    if seen or note:
        started = seen.started_at if seen else None
        text = facts(
            kind="chat",
            title=(told(seen.title) if seen else "") or f"session {source.id[:8]}",
            note=shown(note),
            created_at=micros(started) if started else active,
            model=shown(seen.model) if seen else "",
            agent=source.tool,
            # Two lines of a transcript may have the same time: whoever reads rows sees it grow.
            lines=shown(source.print),
        )
    cwd = folder_named((seen.cwd if seen else "") or source.cwd)
    return Row(
        source.tool,
        source.id,
        one.print,
        os.fsencode(source.path),
        cwd.encode("utf-8", "surrogatepass"),
        active,
        text,
    )
