"""What is new in a conversation since the full-text index read it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from cortext.app.indexing import AUR, print_of
from cortext.app.reading import read_all
from cortext.durability.read import open_file, read_file, read_range
from cortext.errors import CortextError
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.query import spaced
from cortext.formats.records import RecordTable, decode_lines
from cortext.index.database import micros, plain
from cortext.index.listed import Listed
from cortext.index.words import DOCUMENT, SIDE, TITLE, Entry, Work
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores import layout

_log = logging.getLogger("cortext.app")
STUB = 300
"""Characters of what a tool printed that can be found."""
_END = 64
"""Bytes by which a file that has grown is known again."""
_LONGEST = 2**32 - 1


class State(NamedTuple):
    """What is remembered of a conversation: what told that it had changed; which file, how much of
    it is in the index, how many messages, and a checksum of the end of that; and checksums of the
    title, the markdown and what its sub-agents said."""

    print: str = ""
    inode: int = 0
    size: int = 0
    held: int = 0
    end: int = 0
    title: int = 0
    document: int = 0
    side: int = 0

    @classmethod
    def read(cls, text: str) -> State:
        print, _, numbers = text.partition("\n")
        return cls(print, *map(int, numbers.split()))

    def __str__(self) -> str:
        return f"{self.print}\n{' '.join(map(str, self[1:]))}"


def read_new(row: Listed, known: str) -> Work | None:
    """What the index has to take in; None if the conversation cannot be read now, then what is
    there stays, and the next time it is tried again."""
    # What is written while we read is new the next time.
    old, print = State.read(known), print_of(row)
    try:
        if row.tool and row.tool != AUR:
            new, state, keep = _of_tool(row, old)
        else:
            new, state, keep = _of_lines(row, old)
        more, state = _about(row, old if keep else State(), state._replace(print=print))
    except FileNotFoundError:
        return None
    except (OSError, CortextError) as error:
        _log.warning("%s is not searched: %s", row.key, error)
        return None
    return row.identity, str(state), [*more, *new], keep


def _about(row: Listed, old: State, state: State) -> tuple[list[Entry], State]:
    """The title with the summary, and the markdown, if they are new."""
    new: list[Entry] = []
    title = f"{row.title}\n{row.summary}"
    state = state._replace(title=crc32(title.encode()))
    if state.title != old.title:
        new.append(Entry(TITLE, "title", row.last_active, spaced(title)))
    if row.tool:
        return new, state
    name = layout.document_in(row.place.folder)
    data = read_file(os.path.join(row.place.folder, name)) if name else b""
    state = state._replace(document=crc32(data))
    if state.document != old.document:
        text = spaced(plain(data.decode("utf-8", "replace")))
        new.append(Entry(DOCUMENT, "document", row.last_active, text))
    return new, state


def _of_tool(row: Listed, old: State) -> tuple[list[Entry], State, bool]:
    """A transcript is decoded whole; what it began with is in the index if it begins so still."""
    found = read_all(row, STUB)
    messages = found.session.messages
    keep = 0 < old.held <= len(messages) and _digest(messages[: old.held]) == old.end
    start = old.held if keep else 0
    new = [_entry(number, each) for number, each in enumerate(messages[start:], start + 1)]
    said = side_text(found.side)
    side = crc32(said.encode("utf-8", "replace"))
    if side != (old.side if keep else 0):
        new.insert(0, Entry(SIDE, "agents", row.last_active, spaced(plain(said))))
    return new, State("", 0, 0, len(messages), _digest(messages), side=side), keep


def side_text(side: Iterable[Session]) -> str:
    """All that sub-agents said, and were told."""
    return "\n".join(
        message.content
        for session in side
        for message in session.messages
        if message.role in ("user", "assistant")
    )


def _digest(messages: Sequence[SessionMessage]) -> int:
    """Of what they say: not every tool gives its messages ids, and the last one may grow."""
    found = len(messages)
    for message in messages:
        found = crc32(message.content.encode("utf-8", "replace"), found)
    return found


def _of_lines(row: Listed, old: State) -> tuple[list[Entry], State, bool]:
    """Of a file of lines only those are read that came since."""
    path = row.path if row.tool else row.place.lines
    table = LOG.records if row.tool else FOLDER.records
    try:
        fd = open_file(path)
    except FileNotFoundError:
        if row.status:
            raise
        return [], State(), False  # a folder without a session
    try:
        begin = first_line_end(fd) if row.tool else 0
        found = os.fstat(fd)
        # With every new head a log is another file.
        inode, size = 0 if row.tool else found.st_ino, found.st_size - begin
        keep = inode == old.inode and 0 < old.size <= size and _end(fd, begin, old.size) == old.end
        start, count = (old.size, old.held) if keep else (0, 0)
        data = read_range(fd, begin + start, begin + size)
        data = data[: data.rfind(b"\n") + 1]
        end = _end(fd, begin, start + len(data))
    finally:
        os.close(fd)
    new = list(_entries(data, table, start, count))
    return new, State("", inode, start + len(data), count + len(new), end), keep


def first_line_end(fd: int) -> int:
    """Where the turns of a log begin: its first line is written anew again and again."""
    step = 1 << 12
    while True:
        data = os.pread(fd, step, 0)
        cut = data.find(b"\n") + 1
        if cut or len(data) < step:
            return cut or len(data)
        step *= 16


def _end(fd: int, begin: int, size: int) -> int:
    return crc32(read_range(fd, begin + max(size - _END, 0), begin + size))


def _entries(data: bytes, table: RecordTable, at: int, number: int) -> Iterator[Entry]:
    """The messages of lines, each with its place. Lines that hold none have no number, as they
    have none where a conversation is shown."""
    lines = data.split(b"\n")[:-1]
    messages = decode_lines(data, table).messages
    if len(messages) != len(lines):
        yield from _one_by_one(lines, table, at, number)
        return
    for line, message in zip(lines, messages, strict=True):
        number += 1
        yield _entry(number, message, at, len(line))
        at += len(line) + 1


def _one_by_one(
    lines: Sequence[bytes], table: RecordTable, at: int, number: int
) -> Iterator[Entry]:
    for line in lines:
        for message in decode_lines(line + b"\n", table).messages:
            number += 1
            yield _entry(number, message, at, len(line))
        at += len(line) + 1


def _entry(number: int, message: SessionMessage, at: int = 0, size: int = 0) -> Entry:
    if size > _LONGEST:
        at = size = 0
    text = message.content
    if message.role == "tool" and len(text) > STUB:
        text = text[:STUB]
    if not text.isascii():
        text = spaced(plain(text))
    return Entry(number, message.role, micros(message.timestamp), text, at, size)
