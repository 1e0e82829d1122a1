"""The lines that a tool has added to a transcript since cortext last read it.

A transcript grows at its end. Therefore cortext stores the position where its last read ended. A
digest of the bytes before that position shows whether the file was rewritten. The last lines before
the position are read again, because new lines may refer to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from cortext.durability.read_files import open_file, read_range
from cortext.model.message import SessionMessage
from cortext.tools.reader_protocol import TranscriptSource

_END = 4096
_BLOCK = 1 << 17
CONTEXT = 1 << 18
"""The maximum number of known bytes, before the end of the last read, that are read again."""


class FilePosition(Struct, frozen=True):
    """The position in a transcript where a read ended, always at the end of a line.

    `size` is the number of bytes before the position. `lines` is the number of lines before the
    position, or 0 if these lines were not counted. `end` is a digest of the last bytes before the
    position. `inode` identifies the file.
    """

    inode: int
    size: int
    lines: int
    end: str


class NewLines(msgspec.Struct, frozen=True):
    """The new lines of a transcript, and the last known lines before them.

    `before` holds the bytes of the known lines, at most `CONTEXT` bytes. `after` holds the bytes of
    the new lines. `new` is the line number of the first new line. The first line of a file has
    number 1. If earlier lines were not counted, `new` is 1. `mark` is the position after the last
    new line.
    """

    before: bytes
    after: bytes
    new: int
    mark: FilePosition

    @property
    def first(self) -> int:
        """The line number of the first line in `before`.

        If earlier lines were not counted, `new` is 1, so this number may be less than 1.
        """
        return self.new - self.before.count(b"\n")

    @property
    def is_all(self) -> bool:
        """Whether `before` and `after` together are the whole file."""
        return len(self.before) + len(self.after) == self.mark.size


class MessageDelta(msgspec.Struct, frozen=True):
    """The messages that were added to a session or changed since its transcript was last read.

    `again` holds the changed messages, and `new` holds the added messages. `mark` is the position
    after the new messages. `model` is the name of the last model in the lines or rows that were
    read, or "".
    """

    again: Sequence[SessionMessage]
    new: Sequence[SessionMessage]
    mark: FilePosition
    model: str = ""


@runtime_checkable
class Follows(Protocol):
    """A transcript reader that can continue at the position where its last read ended."""

    def follow(self, source: TranscriptSource, lately: NewLines) -> MessageDelta | None:
        """Return the messages of the new lines in `lately`.

        If all earlier lines of the file were counted, the result is equal to the messages that
        `Bridge.decode` returns for the new lines. Return None if the caller must decode the whole
        transcript instead.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the separate files that hold the session's sub-agents.

        The fingerprint changes when a file changes. The result is None if only `Bridge.decode` can
        find the sub-agents.
        """
        ...


@runtime_checkable
class FollowsRows(Protocol):
    """A reader of sessions in a database, whose rows have a modification time.

    The reader uses `FilePosition` for a point in time: its field `size` is a modification time
    instead of a number of bytes.
    """

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """Return the time when a session last changed, as a `FilePosition`.

        The result is None if the session is not in a database, and so has no modification time.
        """
        ...

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """Return the messages that were added to a session or changed since the position `mark`.

        The result is None if the caller must decode the whole session instead. Raises
        FileNotFoundError if the session no longer exists.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the database rows that hold the session's sub-agents.

        The fingerprint changes when a sub-agent gets new or changed messages. The result is None if
        only `Bridge.decode` can find the sub-agents.
        """
        ...


@runtime_checkable
class FollowsLastRows(FollowsRows, Protocol):
    """A reader of sessions in a database that can skip all but the last messages of a session."""

    def near_end(self, source: TranscriptSource, count: int) -> FilePosition | None:
        """Return the position before the last `count` messages of a session.

        The result is None if the session is not in a database, and so has no modification time.
        """
        ...


def mark_of(path: str) -> FilePosition | None:
    """Return the position after the last whole line of a file.

    The result is None if the name of the file does not end with `.jsonl`.
    """
    if not path.endswith(".jsonl"):
        return None
    fd = open_file(path)
    try:
        stat = os.fstat(fd)
        lines = size = at = 0
        while block := os.pread(fd, 1 << 20, at):
            lines += block.count(b"\n")
            end = block.rfind(b"\n") + 1
            size = at + end if end else size
            at += len(block)
        return FilePosition(stat.st_ino, size, lines, _digest(fd, size))
    finally:
        os.close(fd)


def end_position(path: str) -> FilePosition | None:
    """Return the position at the end of a file, without counting its lines.

    The result is None if the name of the file does not end with `.jsonl`, or if the last line of
    the file has no newline.
    """
    if not path.endswith(".jsonl"):
        return None
    fd = open_file(path)
    try:
        stat = os.fstat(fd)
        if not stat.st_size or os.pread(fd, 1, stat.st_size - 1) != b"\n":
            return None
        return FilePosition(stat.st_ino, stat.st_size, 0, _digest(fd, stat.st_size))
    finally:
        os.close(fd)


def position_near_end(path: str, size: int) -> FilePosition | None:
    """Return the position of the first line that begins in the last `size` bytes of a file.

    The lines before the position are not counted. The result is None if the name of the file does
    not end with `.jsonl`, or if these bytes contain no newline and are not the whole file.
    """
    if not path.endswith(".jsonl"):
        return None
    fd = open_file(path)
    try:
        stat = os.fstat(fd)
        start = max(stat.st_size - size, 0)
        if start:
            cut = read_range(fd, start, stat.st_size).find(b"\n")
            if cut < 0:
                return None
            start += cut + 1
        return FilePosition(stat.st_ino, start, 0, _digest(fd, start))
    finally:
        os.close(fd)


def since(path: str, mark: FilePosition) -> NewLines | None:
    """Return the whole lines of a file after the position `mark`, and the last lines before it.

    The result is None if the file was rewritten since `mark` was recorded.
    """
    fd = open_file(path)
    try:
        stat = os.fstat(fd)
        if stat.st_ino != mark.inode or stat.st_size < mark.size:
            return None
        if _digest(fd, mark.size) != mark.end:
            return None
        start = max(mark.size - CONTEXT, 0)
        before = read_range(fd, start, mark.size)
        if start:
            before = before[before.find(b"\n") + 1 :]
        after = read_range(fd, mark.size, stat.st_size)
        after = after[: after.rfind(b"\n") + 1]
        size, lines = mark.size + len(after), mark.lines + after.count(b"\n")
        return NewLines(
            before, after, mark.lines + 1, FilePosition(mark.inode, size, lines, _digest(fd, size))
        )
    finally:
        os.close(fd)


def whole_lines_since(path: str, mark: FilePosition | None) -> tuple[int, FilePosition]:
    """Return where the new bytes of a file begin, and the position after its last whole line.

    `mark` is the position where the last read ended. The new bytes begin there. If `mark` is None,
    or if the file was rewritten since that read, all bytes are new, and they begin at 0. The lines
    before the returned position are not counted.
    """
    fd = open_file(path)
    try:
        stat = os.fstat(fd)
        end = _last_line_end(fd, stat.st_size)
        is_known = mark is not None and mark.inode == stat.st_ino and mark.size <= end
        start = mark.size if mark and is_known and _digest(fd, mark.size) == mark.end else 0
        return start, FilePosition(stat.st_ino, end, 0, _digest(fd, end))
    finally:
        os.close(fd)


def read_span(path: str, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from `start` to `end` in blocks."""
    fd = open_file(path)
    try:
        while start < end and (block := os.pread(fd, min(_BLOCK, end - start), start)):
            yield block
            start += len(block)
    finally:
        os.close(fd)


def _last_line_end(fd: int, size: int) -> int:
    """Return the number of bytes up to the last newline in the first `size` bytes of a file."""
    while size:
        start = max(size - _BLOCK, 0)
        at = read_range(fd, start, size).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        size = start
    return 0


def _digest(fd: int, size: int) -> str:
    from hashlib import blake2b  # loads OpenSSL, which a reader of whole transcripts does not need

    data = read_range(fd, max(size - _END, 0), size)
    return blake2b(data, digest_size=16).hexdigest()
