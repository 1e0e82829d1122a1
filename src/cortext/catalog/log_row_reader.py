"""Read one log of `aur spawn` or of a program and make its catalog row.

A log is a JSONL file. Its first line is the head (title, status and so on), and each other line is
a *turn* (one message). A damaged log still gives a row, with as much as can be read and a note
about the problem.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from zlib import crc32

import msgspec
from msgspec.structs import replace

from cortext.catalog.log_session_refresh import SUFFIX
from cortext.catalog.rebuildable_database import micros, plain
from cortext.catalog.row import AUR, ConversationRow
from cortext.catalog.row_id_fields import own_id
from cortext.catalog.row_table import ReadPosition, ReadRow
from cortext.catalog.row_text_redaction import redact_all, replace_nul, shown, told
from cortext.durability.read_files import open_file, read_range
from cortext.errors import NewerVersionError, reason_of
from cortext.formats.line_formats import join
from cortext.formats.log import LOG, decode_head_line
from cortext.formats.message_lines import Damage, RecordBlock, decode_lines
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.file_fingerprint import Fingerprint
from cortext.tools.tool_output_parsers import LONGEST_TURN

_BLOCK = 1 << 20
_LONGEST_LINE = LONGEST_TURN + 2 * _BLOCK
"""The maximum length in bytes of a line that can be a turn.

A longer line is not read, because a file of zeros may be larger than memory. The length is counted
in whole blocks, so two extra blocks are allowed.
"""
_CHECKSUM_BYTES = 64
"""The number of bytes before a read position that its checksum covers.

If the checksum is the same, the turns before the position are unchanged.
"""
_STATUS_NAMES = {"paused": "interrupted"}


class _Turns(msgspec.Struct, frozen=True):
    """The turns that a refresh counted in a log.

    `position` is where the next refresh starts to read. `turn_count` is the number of all turns,
    and `last` is the time of the last turn. `request` is the user's first request among the turns
    that this refresh read, or None. `note` describes a problem, or is "".
    """

    position: ReadPosition
    turn_count: int
    last: int
    request: SessionMessage | None
    note: str


class _TooLongError(Exception):
    """A line is too long to be a turn."""


class _LogHead(msgspec.Struct, frozen=True):
    """The first line of a log.

    `session` has the fields of the head, or is None if the line cannot be read. The turns begin at
    the byte `start` on line number `line`. `note` describes a problem, or is "".
    """

    session: Session | None
    start: int
    line: int
    note: str


class _Previous(msgspec.Struct, frozen=True):
    """The row and the read position of a log that the last refresh stored.

    Each of the two is None if the last refresh did not store it.
    """

    row: ConversationRow | None
    position: ReadPosition | None


def latest_time(row: ConversationRow) -> int:
    """Return the latest time of any turn (message) in a log, in microseconds since 1970.

    This time is later than the time of the last turn if the computer's clock was set back. If there
    is no turn, return the start time of the session.
    """
    return max(row.latest_message, row.created_at, row.last_active)


def read_log(
    folder: str,
    id: str,
    tool: str = AUR,
    *,
    old: ConversationRow | None = None,
    position: ReadPosition | None = None,
) -> ReadRow | None:
    """Return the catalog row of the log `id` in a folder; None if the file does not exist.

    The row gets the value of `tool` in its field `tool`. `old` and `position` are the row and the
    read position of the last refresh, if there was one. If the file only grew since then, only the
    first line and the new lines are read.
    """
    path = f"{folder}/{id}{SUFFIX}"
    try:
        fd = open_file(path)
    except FileNotFoundError:
        if not os.path.islink(path):
            return None
        return _unreadable_row(path, id, "is a link to a file that does not exist", tool)
    except OSError as error:
        return _unreadable_row(path, id, reason_of(error), tool)
    try:
        status = os.fstat(fd)
        row, now = _row(fd, path, id, _Previous(old, position), status, tool)
    except OSError as error:
        return _unreadable_row(path, id, reason_of(error), tool)
    finally:
        os.close(fd)
    return ReadRow(row, Fingerprint.of(status), now)


def _row(
    fd: int, path: str, id: str, old: _Previous, status: os.stat_result, tool: str
) -> tuple[ConversationRow, ReadPosition]:
    head = _read_head(fd, path, status.st_size)
    known = _known_position(fd, old, head, status)
    turns = _count_turns(fd, path, head, known, status.st_size)
    session = head.session
    began = micros(session.created_at) if session else turns.last or status.st_mtime_ns // 1000
    session = session or Session(id, status="active")
    old_row = old.row if known.size else None
    row = ConversationRow(
        tool=tool,
        path=path,
        key=id,
        status=_STATUS_NAMES.get(session.status, session.status),
        last_active=turns.last or began,
        kind=shown(session.kind) or "chat",
        title=told(session.title) or _title(session, turns, old_row),
        note=shown(head.note or turns.note),
        summary=told(session.summary),
        tags=redact_all(session.tags),
        created_at=began,
        messages=turns.turn_count,
        model=shown(session.model),
        agent=shown(session.agent),
        owner=shown(session.owner),
        parent_id=shown(session.parent_id),
        working_dir=replace_nul(plain(session.working_dir)),
        own_id=own_id(session),
        latest_message=latest if (latest := turns.position.latest) > turns.last else 0,
    )
    return row, turns.position


def _unreadable_row(path: str, id: str, reason: str, tool: str) -> ReadRow:
    """Return the row of a log that cannot be opened. The next refresh tries again."""
    try:
        status = os.lstat(path)
        began = status.st_mtime_ns // 1000
        reason = "is not a regular file" if stat.S_ISFIFO(status.st_mode) else reason
    except OSError:
        began = 0
    row = ConversationRow(
        tool=tool,
        path=path,
        key=id,
        status="active",
        last_active=began,
        kind="chat",
        note=shown(f"{path}: {reason}"),
        created_at=began,
    )
    return ReadRow(row, None)


def _title(session: Session, turns: _Turns, old: ConversationRow | None) -> str:
    """Return the title for the row of a session that has no title of its own.

    This is the title of the row `old`, or a title made from the user's first request. If both are
    missing, return "". `old` is the row of the last refresh; None if the log is new, or if all of
    its turns were read again.
    """
    if old is not None and old.title:
        return old.title
    if turns.request is None or not turns.request.content.strip():
        return ""
    session.messages = [turns.request]
    return told(generate_title(session, WHOLE))


def _read_head(fd: int, path: str, size: int) -> _LogHead:
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
        is_head_lost = bool(decode_lines(line + b"\n", LOG.records).messages)
        return _LogHead(None, 0 if is_head_lost else start, 1 if is_head_lost else 2, note)


def _first_line(fd: int, size: int) -> tuple[bytes, int]:
    """Return the first line of a file without its newline, and the offset of the second line.

    `size` is the size of the file. A line that is too long for a turn is cut.
    """
    line, offset = b"", 0
    step = 1 << 12
    while data := read_range(fd, offset, min(offset + step, size, _LONGEST_LINE)):
        cut = data.find(b"\n")
        if cut >= 0:
            return line + data[:cut], offset + cut + 1
        line, offset, step = line + data, offset + len(data), _BLOCK
    return line, offset


def _known_position(
    fd: int, old: _Previous, head: _LogHead, status: os.stat_result
) -> ReadPosition:
    """Return the position in the open log `fd` at which to start to read turns.

    This is the position at which the last refresh (`old`) stopped, if the turns before it are
    unchanged. If they changed, or if the log is or was damaged, it is the start of the first turn.
    """
    beginning = ReadPosition(inode=status.st_ino, start=head.start)
    known = old.position if old.row and not old.row.is_damaged else None
    if known is None or head.session is None:
        return beginning
    size = head.start + known.size - known.start
    if not known.size > 0 or size > status.st_size:
        return beginning
    if (known.inode, known.start) == (status.st_ino, head.start):
        end = read_range(fd, max(size - _CHECKSUM_BYTES, 0), size)
        return known if crc32(end) == known.end_checksum else beginning
    # The head was replaced, and the turns may be the same. A checksum is ten times faster than
    # decoding them. Without a title in the head, the first turn is needed to make a title.
    if head.session.title and _checksum(fd, head.start, size) == known.checksum:
        return replace(known, inode=status.st_ino, start=head.start, size=size)
    return beginning


def _checksum(fd: int, offset: int, end: int) -> int:
    checksum = 0
    while data := read_range(fd, offset, min(offset + _BLOCK, end)):
        offset, checksum = offset + len(data), crc32(data, checksum)
    return checksum


def _count_turns(fd: int, path: str, head: _LogHead, known: ReadPosition, size: int) -> _Turns:
    """Count the turns of a log.

    `known` is the position at which the last refresh stopped, with its counts. Only later turns are
    read, and added to these counts. The file is read up to the byte `size`, one block at a time.
    """
    at, lines = known.size or head.start, known.lines or head.line - 1
    position = now = replace(known, size=at, lines=lines)
    request: SessionMessage | None = None
    first_damage: Damage | None = None
    try:
        for block in _blocks(fd, at, size):
            records = decode_lines(block, LOG.records, first_line=now.lines + 1)
            now = _advance(now, block, records.messages)
            request = request or next((m for m in records.messages if m.role == "user"), None)
            first_damage = first_damage or next(
                (damage for damage in records.damages if damage.fatal), None
            )
            # A last line without a newline is incomplete, and is read again later.
            position = now if block.endswith(b"\n") else position
    except _TooLongError as error:
        first_damage = first_damage or Damage(str(error), now.lines + 1)
    note = f"{path}, line {first_damage.line}: {first_damage.detail}" if first_damage else ""
    end = read_range(fd, max(position.size - _CHECKSUM_BYTES, 0), position.size)
    position = replace(position, end_checksum=crc32(end))
    return _Turns(position, now.messages, now.last, request, note)


def _advance(known: ReadPosition, block: bytes, turns: Sequence[SessionMessage]) -> ReadPosition:
    """Return the read position after `block`, a block of lines that contains `turns`."""
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


def _blocks(fd: int, offset: int, end: int) -> Iterator[bytes]:
    """Yield the file from `offset` to `end` in blocks of complete lines.

    If the last line has no newline, it is a block of its own. Raises _TooLongError for a line that
    is too long to be a turn.
    """
    pending: list[bytes] = []
    while data := read_range(fd, offset, min(offset + _BLOCK, end)):
        offset += len(data)
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((*pending, data[:cut]))
            pending.clear()
        if cut < len(data):
            pending.append(data[cut:])
        if len(pending) * _BLOCK > _LONGEST_LINE:
            raise _TooLongError(f"is longer than {_LONGEST_LINE >> 20} MB")
    if pending:
        yield b"".join(pending)
