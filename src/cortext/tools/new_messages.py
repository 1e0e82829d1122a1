"""What was said in a transcript since it was last read.

A transcript grows at its end, so the bytes before a mark tell whether it is still the same one,
and the lines before it what the new ones go on from.
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
"""Bytes before a mark that are read again, for what new lines refer to."""


class FilePosition(Struct, frozen=True):
    """A place in a file: so many bytes in so many lines, and a digest of the last of them. Lines
    are 0 where nobody asks for the numbers of the next ones."""

    inode: int
    size: int
    lines: int
    end: str


class Lately(NamedTuple):
    """The whole lines before a mark, as far back as is needed, and those after it. `first` is the
    number of the first of them all, counted from 1, of the new ones `new`; `mark` is after them."""

    before: bytes
    after: bytes
    new: int
    mark: FilePosition

    @property
    def first(self) -> int:
        return self.new - self.before.count(b"\n")

    @property
    def is_all(self) -> bool:
        """Whether nothing stands before these lines."""
        return len(self.before) + len(self.after) == self.mark.size


class MessageDelta(NamedTuple):
    """The messages after a position. `again` are messages from before it that have changed.

    `mark` is the position after them, and `model` the last model that they name, "" if none.
    """

    again: Sequence[SessionMessage]
    new: Sequence[SessionMessage]
    mark: FilePosition
    model: str = ""


@runtime_checkable
class Follows(Protocol):
    """A bridge that can go on where it was."""

    def follow(self, source: TranscriptSource, lately: Lately) -> MessageDelta | None:
        """Return the messages of the new lines, as `decode` does; None if that needs all lines."""
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """What changes with the conversations of sub-agents that stand elsewhere; None where only
        all of the lines tell which these are."""
        ...


@runtime_checkable
class FollowsRows(Protocol):
    """A bridge whose sessions are rows, which say when they were changed. In its marks the time
    stands in the place of the size."""

    def latest(self, source: TranscriptSource) -> FilePosition | None:
        """When a session was last changed; None where its store does not tell."""
        ...

    def changed(self, source: TranscriptSource, mark: FilePosition) -> MessageDelta | None:
        """What the rows say that were changed since; None where that takes all of them to tell.
        FileNotFoundError if the session is gone."""
        ...

    def beside(self, source: TranscriptSource) -> str | None:
        """As that of `Follows`."""
        ...


def mark_of(path: str) -> FilePosition | None:
    """The end of the last whole line of a file; None for what is no file of lines."""
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
    """The end of a file of lines, without their number; None where the last one has no end."""
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
    """What came after a mark; None if the file is not the one that it was set in."""
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
