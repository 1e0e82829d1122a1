"""Read one log of `aur spawn` or of a program and make its catalog row.

A log is a JSONL file: the first line is the head, and each other line is a *turn* (one message). A
damaged log still gives a row, with as much as can be read and a note about the problem.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from cortext.catalog.database import micros, plain
from cortext.catalog.log_sessions import SUFFIX
from cortext.catalog.row import AUR, ConversationRow, ReadPosition
from cortext.catalog.row_table import ReadRow
from cortext.catalog.sanitize import folder_named, shown, told, told_all
from cortext.catalog.session_fields import own_id
from cortext.durability.read_files import open_file, read_range
from cortext.errors import NewerVersionError, reason_of
from cortext.formats.head_and_lines import join
from cortext.formats.log import LOG, decode_head_line
from cortext.formats.record_lines import Damage, RecordBlock, decode_lines
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.damage_report import refuse_newer
from cortext.stores.fingerprints import Fingerprint
from cortext.tools.stream_events import LONGEST_TURN

_BLOCK = 1 << 20
_LONGEST = LONGEST_TURN + 2 * _BLOCK
"""The maximum length in bytes of a line that can be a turn.

A longer line is not read, because a file of zeros may be larger than memory. The length is counted
in whole blocks, so two extra blocks are allowed.
"""
_END = 64
"""The number of bytes before a read position that its checksum covers.

If the checksum is the same, the turns before the position are unchanged.
"""
_WORDS = {"paused": "interrupted"}


class _Turns(NamedTuple):
    """The turns that a refresh counted in a log.

    `position` is where the next refresh starts to read. `shown` is the number of turns, and `last`
    is the time of the last one. `asked` is the user's first request, if one of the new turns has
    it. `note` is a problem or "".
    """

    position: ReadPosition
    shown: int
    last: int
    asked: SessionMessage | None
    note: str


class _TooLongError(Exception):
    """A line is too long to be a turn."""


class _LogHead(NamedTuple):
    """The first line of a log.

    `session` is the head, or None if it cannot be read. `start` and `line` are the byte and the
    line number where the turns begin. `note` is a problem or "".
    """

    session: Session | None
    start: int
    line: int
    note: str


def latest_of(row: ConversationRow) -> int:
    """Return the latest time of any turn, or of the session's start, in microseconds since 1970.

    If the clock was set back, this time is later than the time of the last turn.
    """
    return max(row.position.latest if row.position else 0, row.created_at, row.last_active)


def read_log(
    folder: str, id: str, old: ConversationRow | None = None, tool: str = AUR
) -> ReadRow | None:
    """Return the catalog row of the log `id` in a folder; None if the file does not exist.

    `tool` is the tool that the row names. `old` is the previous row: if the file only grew since
    then, just the first line and the new lines are read.
    """
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
        row = _row(fd, path, id, old, found, tool)
    except OSError as error:
        return _unreadable(path, id, reason_of(error), tool)
    finally:
        os.close(fd)
    return ReadRow(row, Fingerprint.of(found))


def _row(
    fd: int, path: str, id: str, old: ConversationRow | None, found: os.stat_result, tool: str
) -> ConversationRow:
    head = _head(fd, path, found.st_size)
    known = _known(fd, old, head, found)
    turns = _turns(fd, path, head, known, found.st_size)
    session = head.session
    began = micros(session.created_at) if session else turns.last or found.st_mtime_ns // 1000
    session = session or Session(id, status="active")
    return ConversationRow(
        tool=tool,
        path=path,
        key=id,
        status=_WORDS.get(session.status, session.status),
        last_active=turns.last or began,
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
        working_dir=folder_named(plain(session.working_dir)),
        own_id=own_id(session),
        position=turns.position,
    )


def _unreadable(path: str, id: str, why: str, tool: str) -> ReadRow:
    """Return the row of a log that cannot be opened. The next refresh tries again."""
    try:
        found = os.lstat(path)
        began = found.st_mtime_ns // 1000
        why = "is not a regular file" if stat.S_ISFIFO(found.st_mode) else why
    except OSError:
        began = 0
    row = ConversationRow(
        tool=tool,
        path=path,
        key=id,
        status="active",
        last_active=began,
        kind="chat",
        note=shown(f"{path}: {why}"),
        created_at=began,
    )
    return ReadRow(row, None)


def _title(session: Session, turns: _Turns, old: ConversationRow | None) -> str:
    """Return a title made from the user's first request; "" if there is no request.

    `old` is the previous row if only new turns were read. Its title stays.
    """
    if old is not None and old.title:
        return old.title
    if turns.asked is None or not turns.asked.content.strip():
        return ""
    session.messages = [turns.asked]
    return told(generate_title(session, WHOLE))


def _head(fd: int, path: str, size: int) -> _LogHead:
    line, start = _first_line(fd, size)
    try:
        data = decode_head_line(line, [])
        refuse_newer(data, path)
        return _LogHead(join(data, RecordBlock([], [], []), LOG), start, 2, "")
    except NewerVersionError as error:
        return _LogHead(None, start, 2, str(error))
    except ValueError as error:
        note = f"{path}, line 1: {error if line else 'the file is empty'}"
        # If the head was lost, the first line is a turn.
        lost = bool(decode_lines(line + b"\n", LOG.records).messages)
        return _LogHead(None, 0 if lost else start, 1 if lost else 2, note)


def _first_line(fd: int, size: int) -> tuple[bytes, int]:
    """Return line 1 without its newline, up to a limit, and the byte where the next line begins."""
    line, at = b"", 0
    step = 1 << 12
    while data := read_range(fd, at, min(at + step, size, _LONGEST)):
        cut = data.find(b"\n")
        if cut >= 0:
            return line + data[:cut], at + cut + 1
        line, at, step = line + data, at + len(data), _BLOCK
    return line, at


def _known(
    fd: int, old: ConversationRow | None, head: _LogHead, found: os.stat_result
) -> ReadPosition:
    """Return the read position of `old`, or the start of the turns if earlier turns changed."""
    fresh = ReadPosition(inode=found.st_ino, start=head.start)
    known = old.position if old and not old.is_damaged else None
    if known is None or head.session is None:
        return fresh
    size = head.start + known.size - known.start
    if not known.size > 0 or size > found.st_size:
        return fresh
    if (known.inode, known.start) == (found.st_ino, head.start):
        end = read_range(fd, max(size - _END, 0), size)
        return known if crc32(end) == known.end_checksum else fresh
    # The head was replaced, and the turns may be the same. A checksum is ten times faster than
    # decoding them. Without a title in the head, the first turn is needed to make a title.
    if head.session.title and _sum(fd, head.start, size) == known.checksum:
        return replace(known, inode=found.st_ino, start=head.start, size=size)
    return fresh


def _sum(fd: int, at: int, end: int) -> int:
    found = 0
    while data := read_range(fd, at, min(at + _BLOCK, end)):
        at, found = at + len(data), crc32(data, found)
    return found


def _turns(fd: int, path: str, head: _LogHead, known: ReadPosition, size: int) -> _Turns:
    """Count the turns after the position `known`, and read them one block at a time."""
    at, lines = known.size or head.start, known.lines or head.line - 1
    position = now = replace(known, size=at, lines=lines)
    asked: SessionMessage | None = None
    bad: Damage | None = None
    try:
        for block in _blocks(fd, at, size):
            found = decode_lines(block, LOG.records, first_line=now.lines + 1)
            now = _count(now, block, found.messages)
            asked = asked or next((m for m in found.messages if m.role == "user"), None)
            bad = bad or next((damage for damage in found.damages if damage.fatal), None)
            # A last line without a newline is incomplete, and is read again later.
            position = now if block.endswith(b"\n") else position
    except _TooLongError as error:
        bad = bad or Damage(str(error), now.lines + 1)
    note = f"{path}, line {bad.line}: {bad.detail}" if bad else ""
    end = read_range(fd, max(position.size - _END, 0), position.size)
    position = replace(position, end_checksum=crc32(end))
    return _Turns(position, now.messages, now.last, asked, note)


def _count(known: ReadPosition, block: bytes, turns: Sequence[SessionMessage]) -> ReadPosition:
    """Return the read position after a block of lines, with its turns added to the counts."""
    times = [turn.timestamp for turn in turns]
    return replace(
        known,
        size=known.size + len(block),
        lines=known.lines + block.count(b"\n"),
        messages=known.messages + len(times),
        last=micros(times[-1]) if times else known.last,
        latest=max(known.latest, micros(max(times))) if times else known.latest,
        checksum=crc32(block, known.checksum),
    )


def _blocks(fd: int, at: int, end: int) -> Iterator[bytes]:
    """Yield blocks of complete lines, then the last line if it has no newline.

    Raises _TooLongError for a line that is too long to be a turn.
    """
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
