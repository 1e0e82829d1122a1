"""The new part of a transcript since it was last read.

A transcript grows at its end. Therefore capture stores the position up to which it has read. The
bytes before that position show whether the file was rewritten. The lines before the position are
the context of the new lines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from cortext.durability.read_files import open_file, read_range
from cortext.model.message import SessionMessage
from cortext.tools.reader_protocol import TranscriptSource

_END = 4096
CONTEXT = 1 << 18
"""The number of bytes before a position that are read again, because new lines refer to them."""


class FilePosition(Struct, frozen=True):
    """The position up to which a transcript was read, always at the end of a line.

    `size` is the number of bytes before the position. `lines` is the number of lines, or 0 if not
    counted. `end` is a digest of the last bytes before the position, to recognize the file.
    """

    inode: int
    size: int
    lines: int
    end: str


class Lately(NamedTuple):
    """The lines of a transcript before and after the position up to which it was read.

    `before` holds at most the last `CONTEXT` bytes of known lines. `after` holds the new lines.
    `new` is the line number of the first new line, counted from 1. `mark` is the position after the
    last line.
    """

    before: bytes
    after: bytes
    new: int
    mark: FilePosition

    @property
    def first(self) -> int:
        return self.new - self.before.count(b"\n")

    @property
    def is_all(self) -> bool:
        """Whether `before` and `after` together are the whole file."""
        return len(self.before) + len(self.after) == self.mark.size


class MessageDelta(NamedTuple):
    """The messages that a session got since its transcript was last read.

    `again` holds known messages that have changed. `mark` is the position after the new messages.
    `model` is the last model that the transcript names there, or "".
    """

    again: Sequence[SessionMessage]
    new: Sequence[SessionMessage]
    mark: FilePosition
    model: str = ""


@runtime_checkable
class Follows(Protocol):
    """A transcript reader that can continue at the position up to which it read last time."""

    def follow(self, source: TranscriptSource, lately: Lately) -> MessageDelta | None:
        """Return the messages of the new lines in `lately`, as `decode` would.

        The result is None if the caller must decode the whole transcript instead.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the session's sub-agents, whose transcripts are other files.

        The result is None if only `decode` can find the sub-agents.
        """
        ...


@runtime_checkable
class FollowsRows(Protocol):
    """A reader of sessions in a database, whose rows have a modification time.

    The `size` of its positions is a modification time instead of a number of bytes.
    """

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """Return the position of a session's last change, or None if the database has no times."""
        ...

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """Return the messages of a session that changed since the position `mark`.

        The result is None if the caller must decode the whole session instead. Raises
        FileNotFoundError if the session no longer exists.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the session's sub-agents, as `Follows.beside` does."""
        ...


def mark_of(path: str) -> FilePosition | None:
    """Return the position after the last whole line of a file, or None if it is not `.jsonl`."""
    if not path.endswith(".jsonl"):
        return None
    fd = open_file(path)
    try:
        found = os.fstat(fd)
        lines = size = at = 0
        while block := os.pread(fd, 1 << 20, at):
            lines += block.count(b"\n")
            end = block.rfind(b"\n") + 1
            size = at + end if end else size
            at += len(block)
        return FilePosition(found.st_ino, size, lines, _digest(fd, size))
    finally:
        os.close(fd)


def end_of(path: str) -> FilePosition | None:
    """Return the position at the end of a file, without counting its lines.

    The result is None if the file is not `.jsonl`, or if its last line has no newline.
    """
    if not path.endswith(".jsonl"):
        return None
    fd = open_file(path)
    try:
        found = os.fstat(fd)
        if not found.st_size or os.pread(fd, 1, found.st_size - 1) != b"\n":
            return None
        return FilePosition(found.st_ino, found.st_size, 0, _digest(fd, found.st_size))
    finally:
        os.close(fd)


def since(path: str, mark: FilePosition) -> Lately | None:
    """Return the lines before and after the position `mark`, or None if the file was rewritten."""
    fd = open_file(path)
    try:
        found = os.fstat(fd)
        if found.st_ino != mark.inode or found.st_size < mark.size:
            return None
        if _digest(fd, mark.size) != mark.end:
            return None
        start = max(mark.size - CONTEXT, 0)
        before = read_range(fd, start, mark.size)
        if start:
            before = before[before.find(b"\n") + 1 :]
        after = read_range(fd, mark.size, found.st_size)
        after = after[: after.rfind(b"\n") + 1]
        size, lines = mark.size + len(after), mark.lines + after.count(b"\n")
        return Lately(
            before, after, mark.lines + 1, FilePosition(mark.inode, size, lines, _digest(fd, size))
        )
    finally:
        os.close(fd)


def _digest(fd: int, size: int) -> str:
    data = read_range(fd, max(size - _END, 0), size)
    return blake2b(data, digest_size=16).hexdigest()
