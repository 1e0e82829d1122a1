"""The new part of a transcript since it was last read.

A transcript grows at its end. The bytes before a stored position show whether the file is still the
same. The lines before the position are the context of the new lines.
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
"""The bytes before a position that are read again, because new lines may refer to them."""


class FilePosition(Struct, frozen=True):
    """A position at the end of a line in a file.

    `size` is the number of bytes before the position, and `lines` the number of lines; `lines` is 0
    if it was not counted. `end` is a digest of the last bytes before the position.
    """

    inode: int
    size: int
    lines: int
    end: str


class Lately(NamedTuple):
    """The whole lines before and after a stored position.

    `before` goes back only as far as new lines may refer to. `new` is the line number of the first
    line in `after`, counted from 1. `mark` is the position after the last line.
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
        """Whether these lines are the whole file."""
        return len(self.before) + len(self.after) == self.mark.size


class MessageDelta(NamedTuple):
    """The messages after a position.

    `again` has messages from before the position that have changed. `mark` is the position after
    the new messages. `model` is the last model that they name, or "".
    """

    again: Sequence[SessionMessage]
    new: Sequence[SessionMessage]
    mark: FilePosition
    model: str = ""


@runtime_checkable
class Follows(Protocol):
    """A bridge that can continue reading a transcript at a stored position."""

    def follow(self, source: TranscriptSource, lately: Lately) -> MessageDelta | None:
        """Return the messages of the new lines, as `decode` does.

        None if all lines must be read to find these messages.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint of the sub-agents' transcripts that are stored in other files.

        None if only a read of all lines shows which transcripts these are.
        """
        ...


@runtime_checkable
class FollowsRows(Protocol):
    """A bridge whose sessions are database rows with a modification time.

    In its positions, `size` is a modification time instead of a number of bytes.
    """

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """Return the position of a session's last change, or None if the database has no times."""
        ...

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """Return the messages of the rows that changed since a position.

        None if all rows must be read to find these messages. Raises FileNotFoundError if the
        session no longer exists.
        """
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """Return a fingerprint, as `Follows.beside` does."""
        ...


def mark_of(path: str) -> FilePosition | None:
    """Return the end of the last whole line of a file, or None if it is not a `.jsonl` file."""
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
    """Return the end of a file of lines, without counting the lines.

    None if the file is not a `.jsonl` file, or if its last line has no newline.
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
    """Return the lines before and after a position, or None if the file is no longer the same."""
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
