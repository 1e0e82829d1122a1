"""One session of `aur spawn` as lists show it, read from its file as far as that can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from cortext.catalog.database import micros, plain
from cortext.catalog.log_index import SUFFIX, Read
from cortext.catalog.row import AUR, Listed, facts, tool_root
from cortext.catalog.sanitize import folder_named, own_id, shown, told, told_all
from cortext.durability.read_files import open_file, read_range
from cortext.errors import NewerVersionError, reason_of
from cortext.formats.head_and_lines import join
from cortext.formats.log import LOG, decode_head_line
from cortext.formats.record_lines import Damage, Lines, decode_lines
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.damage_report import refuse_newer
from cortext.stores.fingerprints import Fingerprint
from cortext.tools.stream_events import LONGEST_TURN

_BLOCK = 1 << 20
_LONGEST = LONGEST_TURN + 2 * _BLOCK
"""Bytes of a line beyond which it is no turn: a file may be all zeros, and larger than memory.
Counted in blocks, of which the first and the last may be nearly empty."""
_END = 64
"""Bytes by which a file that has grown is known again."""
_WORDS = {"paused": "interrupted"}


class Counted(NamedTuple):
    """What is known of a file from `start`, where its turns begin, to `size`, where a line ended:
    how many lines and turns, when the last turn was and when the latest, and checksums of the end
    and of all of it."""

    inode: int = 0
    start: int = 0
    size: int = 0
    lines: int = 0
    turns: int = 0
    last: int = 0
    latest: int = 0
    end: int = 0
    all: int = 0

    def __str__(self) -> str:
        return " ".join(map(str, self))


class _Turns(NamedTuple):
    """The turns of a file: what is known now, what to show, and what is wrong."""

    counted: Counted
    shown: int
    last: int
    asked: SessionMessage | None
    note: str


class _TooLongError(Exception):
    """Nobody said that much in one turn."""


class _Head(NamedTuple):
    """Line 1: the head, where the turns begin and on which line, and what is wrong."""

    session: Session | None
    start: int
    line: int
    note: str


def latest_of(row: Listed) -> int:
    """The latest time that any turn of a session has, or its beginning: a clock that was set back
    makes the last one look older than it is. Microseconds since 1970."""
    return max(_counted(row).latest, row.created_at, row.last_active)


def read_spawned(folder: str, id: str, old: Listed | None = None, tool: str = AUR) -> Read | None:
    """The row of a session of a tool; None if its file is not there. Of a file that only grew
    since `old`, line 1 and what is new are read."""
    path = f"{folder}/{id}{SUFFIX}"
    try:
        fd = open_file(path)
    except FileNotFoundError:
        if not os.path.islink(path):
            return None
        return _unreadable(path, id, "is a link to nothing", tool)
    except OSError as error:
        return _unreadable(path, id, reason_of(error), tool)
    try:
        found = os.fstat(fd)
        row = _row(fd, path, id, old, found)
        row = row._replace(root=tool_root(tool, row.cwd)) if tool != AUR else row
    except OSError as error:
        return _unreadable(path, id, reason_of(error), tool)
    finally:
        os.close(fd)
    return Read(row, Fingerprint.of(found))


def _row(fd: int, path: str, id: str, old: Listed | None, found: os.stat_result) -> Listed:
    head = _head(fd, path, found.st_size)
    known = _known(fd, old, head, found)
    turns = _turns(fd, path, head, known, found.st_size)
    session = head.session
    began = micros(session.created_at) if session else turns.last or found.st_mtime_ns // 1000
    session = session or Session(id, status="active")
    text = facts(
        kind=shown(session.kind) or "chat",
        title=told(session.title) or _title(session, turns, old if known.size else None),
        note=shown(head.note or turns.note),
        summary=told(session.summary),
        tags=told_all(session.tags),
        created_at=began,
        messages=turns.shown,
        model=shown(session.model),
        agent=shown(session.agent),
        owner=shown(session.owner),
        parent_id=shown(session.parent_id),
        lines=str(turns.counted),
        own_id=own_id(session),
    )
    status = _WORDS.get(session.status, session.status)
    root = tool_root(AUR, folder_named(plain(session.working_dir)))
    return Listed(root, path, id, status, turns.last or began, text)


def _unreadable(path: str, id: str, why: str, tool: str) -> Read:
    """A row for what cannot be opened: it may be, the next time."""
    try:
        found = os.lstat(path)
        began = found.st_mtime_ns // 1000
        why = "is not a regular file" if stat.S_ISFIFO(found.st_mode) else why
    except OSError:
        began = 0
    text = facts(kind="chat", title="", note=shown(f"{path}: {why}"), created_at=began)
    return Read(Listed(tool_root(tool, ""), path, id, "active", began, text), None)


def _title(session: Session, turns: _Turns, old: Listed | None) -> str:
    """The first line that was asked, where nobody gave a title."""
    if old is not None and old.title:
        return old.title
    if turns.asked is None or not turns.asked.content.strip():
        return ""
    session.messages = [turns.asked]
    return told(generate_title(session, WHOLE))


def _head(fd: int, path: str, size: int) -> _Head:
    line, start = _first_line(fd, size)
    try:
        data = decode_head_line(line, [])
        refuse_newer(data, path)
        return _Head(join(data, Lines([], [], []), LOG), start, 2, "")
    except NewerVersionError as error:
        return _Head(None, start, 2, str(error))
    except ValueError as error:
        note = f"{path}, line 1: {error if line else 'the file is empty'}"
        # A file whose head was lost begins with a turn.
        lost = bool(decode_lines(line + b"\n", LOG.records).messages)
        return _Head(None, 0 if lost else start, 1 if lost else 2, note)


def _first_line(fd: int, size: int) -> tuple[bytes, int]:
    """Line 1 without its newline, as far as it is not too long, and where the next one begins."""
    line, at = b"", 0
    step = 1 << 12
    while data := read_range(fd, at, min(at + step, size, _LONGEST)):
        cut = data.find(b"\n")
        if cut >= 0:
            return line + data[:cut], at + cut + 1
        line, at, step = line + data, at + len(data), _BLOCK
    return line, at


def _known(fd: int, old: Listed | None, head: _Head, found: os.stat_result) -> Counted:
    """What `old` knew of the turns, if they still stand at the beginning; else nothing."""
    fresh = Counted(found.st_ino, head.start)
    if old is None or old.is_damaged or head.session is None:
        return fresh
    known = _counted(old)
    size = head.start + known.size - known.start
    if not known.size > 0 or size > found.st_size:
        return fresh
    if (known.inode, known.start) == (found.st_ino, head.start):
        end = read_range(fd, max(size - _END, 0), size)
        return known if crc32(end) == known.end else fresh
    # Another head before the same turns: to know them again takes a tenth of reading them. Their
    # title alone would have to be made anew.
    if head.session.title and _sum(fd, head.start, size) == known.all:
        return known._replace(inode=found.st_ino, start=head.start, size=size)
    return fresh


def _sum(fd: int, at: int, end: int) -> int:
    found = 0
    while data := read_range(fd, at, min(at + _BLOCK, end)):
        at, found = at + len(data), crc32(data, found)
    return found


def _counted(row: Listed) -> Counted:
    return Counted(*map(int, row.lines.split()))


def _turns(fd: int, path: str, head: _Head, known: Counted, size: int) -> _Turns:
    """Count the turns that are not known yet, a block at a time."""
    at, lines = known.size or head.start, known.lines or head.line - 1
    counted = now = known._replace(size=at, lines=lines)
    asked: SessionMessage | None = None
    bad: Damage | None = None
    try:
        for block in _blocks(fd, at, size):
            found = decode_lines(block, LOG.records, first_line=now.lines + 1)
            now = _count(now, block, found.messages)
            asked = asked or next((m for m in found.messages if m.role == "user"), None)
            bad = bad or next((damage for damage in found.damages if damage.fatal), None)
            # What has no newline yet is read again when it has.
            counted = now if block.endswith(b"\n") else counted
    except _TooLongError as error:
        bad = bad or Damage(str(error), now.lines + 1)
    note = f"{path}, line {bad.line}: {bad.detail}" if bad else ""
    end = read_range(fd, max(counted.size - _END, 0), counted.size)
    return _Turns(counted._replace(end=crc32(end)), now.turns, now.last, asked, note)


def _count(known: Counted, block: bytes, turns: Sequence[SessionMessage]) -> Counted:
    """What is known after a block, too."""
    times = [turn.timestamp for turn in turns]
    return known._replace(
        size=known.size + len(block),
        lines=known.lines + block.count(b"\n"),
        turns=known.turns + len(times),
        last=micros(times[-1]) if times else known.last,
        latest=max(known.latest, micros(max(times))) if times else known.latest,
        all=crc32(block, known.all),
    )


def _blocks(fd: int, at: int, end: int) -> Iterator[bytes]:
    """Whole lines, some at a time; the last block is what has no newline, if there is such.
    _TooLongError for a line that is none."""
    kept: list[bytes] = []
    while data := read_range(fd, at, min(at + _BLOCK, end)):
        at += len(data)
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((*kept, data[:cut]))
            kept.clear()
        if cut < len(data):
            kept.append(data[cut:])
        if len(kept) * _BLOCK > _LONGEST:
            raise _TooLongError(f"is longer than {_LONGEST >> 20} MB")
    if kept:
        yield b"".join(kept)
