"""Read the texts of a conversation that the full-text index does not have yet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from cortext.catalog.database import micros, plain
from cortext.catalog.fulltext.fulltext_index import MARKDOWN, SIDE, TITLE, TextEntry, Work
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError, where_and_why
from cortext.features.capture.transcripts import Found, beside, current_position, read_new_messages
from cortext.features.listing.session_of_row import LoadedRow, read_all, read_from, transcript_of
from cortext.features.secrets.index_redactions import (
    find_redactor,
    redact_indexed_text,
    redact_message,
)
from cortext.features.secrets.redact_value import Redactor
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.record_lines import RecordTable, decode_lines
from cortext.formats.text_search.search_query import spaced
from cortext.formats.text_search.searchable_text import wording
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores import workspace_layout
from cortext.tools.new_messages import FilePosition
from cortext.workspace.type_templates import Types

_log = logging.getLogger("cortext.features")
STUB = 300
"""How many characters of a long tool result are indexed, at its start and at its end each.

The end matters because error messages are usually there.
"""
_END = 64
"""The number of bytes before a read position that its checksum covers.

If the checksum is the same, the lines before the position are unchanged.
"""
_LONGEST = 2**32 - 1
_New = tuple[list[TextEntry], "State", bool]
"""The new texts, the state to store, and whether earlier texts stay in the index."""


class State(NamedTuple):
    """How much of a conversation is in the full-text index.

    The index stores this state as text with the conversation. `print` is the fingerprint of the
    conversation. `inode` and `size` are the file and the number of its bytes that are indexed, and
    `held` is the number of messages. `end` is a checksum: of the last indexed bytes, or for a
    transcript of all indexed texts. `title`, `document` and `side` are checksums of the title, the
    markdown and the sub-agents' messages. Transcripts also use `lines` and `last`, the rest of a
    `FilePosition`, and `beside`, which changes with the sub-agents' files.
    """

    print: str = ""
    inode: int = 0
    size: int = 0
    held: int = 0
    end: int = 0
    title: int = 0
    document: int = 0
    side: int = 0
    lines: int = 0
    last: int = 0
    beside: int = 0

    @property
    def mark(self) -> FilePosition:
        """The position in the transcript up to which its messages are indexed."""
        return FilePosition(self.inode, self.size, self.lines, f"{self.last:032x}")

    def at(self, mark: FilePosition) -> State:
        """Return a copy of this state with another position in the transcript."""
        last = int(mark.end or "0", 16)
        return self._replace(inode=mark.inode, size=mark.size, lines=mark.lines, last=last)

    @classmethod
    def read(cls, text: str) -> State:
        """Parse the text that `str` makes of a state.

        An empty text means that nothing is indexed.
        """
        print, _, numbers = text.partition("\n")
        return cls(print, *map(int, numbers.split()))

    def __str__(self) -> str:
        return f"{self.print}\n{' '.join(map(str, self[1:]))}"


def read_new(row: ConversationRow, known: str) -> Work | None:
    """Read the texts of a conversation that the index does not have.

    `known` is the state that the index stores for the conversation, or "". Return None if the
    conversation cannot be read. Its indexed texts then stay, and the next refresh tries again.
    """
    # Take the fingerprint first, so that a write during the read counts as new next time.
    old, print = State.read(known), fingerprint_of(row)
    try:
        if row.tool and not row.is_log:
            new, state, keep = _of_tool(row, old)
        else:
            new, state, keep = _of_lines(row, old)
        more, state = _about(row, old if keep else State(), state._replace(print=print))
    except FileNotFoundError:
        return None
    except (OSError, CortextError) as error:
        _log.warning("%s is not searched: %s", row.key, where_and_why(error))
        return None
    return row.identity, str(state), [*more, *new], keep


def _about(row: ConversationRow, old: State, state: State) -> tuple[list[TextEntry], State]:
    """Return the title with the summary, and the markdown, if they changed since `old`.

    Also return `state` with the new checksums of both.
    """
    new: list[TextEntry] = []
    title = f"{row.title}\n{row.summary}"
    state = state._replace(title=crc32(title.encode()))
    if state.title != old.title:
        new.append(TextEntry(TITLE, "title", row.last_active, spaced(title)))
    if row.tool:
        return new, state
    name = workspace_layout.document_in(row.place.folder)
    data = read_file(os.path.join(row.place.folder, name)) if name else b""
    state = state._replace(document=crc32(data))
    if state.document != old.document:
        text = spaced(plain(_written(data.decode("utf-8", "replace"), row)))
        new.append(TextEntry(MARKDOWN, "document", row.last_active, text))
    return new, state


def _written(markdown: str, row: ConversationRow) -> str:
    """Return a conversation's markdown without the lines that come from its template."""
    given = set(Types(row.workspace).template(row.kind).split("\n"))
    return "\n".join([line for line in markdown.split("\n") if line not in given])


def _of_tool(row: ConversationRow, old: State) -> _New:
    """Return the new texts of a tool session or of a document.

    Only the new part of a transcript is read, if possible. A document is read completely.
    """
    if row.is_standalone:
        return _all_of(row, read_all(row), old)
    transcript = transcript_of(row)
    mask = find_redactor(row.tool, row.key, transcript[1].path)
    try:
        found = _since(transcript, old, mask) if old.size else None
    except (OSError, CortextError):
        found = None  # reading the whole transcript reports the error
    return found or _anew(row, transcript, old, mask)


def _since(transcript: Found, old: State, mask: Redactor | None) -> _New | None:
    """Return the texts that were added to a transcript since `old`.

    Return None if the whole transcript has to be read. Texts are redacted with `mask`, if given.
    """
    aside = beside(*transcript)
    if old.side if aside is None else _sum(aside) != old.beside:
        return None
    changed = read_new_messages(*transcript, old.mark)
    # A tool may update the record of a user's message later, but not the text.
    if changed is None or any(message.role != "user" for message in changed.again):
        return None
    told = _told(changed.new, mask)
    new = [_entry(number, each) for number, each in enumerate(told, old.held + 1)]
    state = old._replace(held=old.held + len(new), end=_digest(new, old.end))
    return new, state.at(changed.mark), True


def _anew(row: ConversationRow, transcript: Found, old: State, mask: Redactor | None) -> _New:
    """Read a whole transcript.

    Return its texts and a state from which the next refresh continues.
    """
    mark = _end(transcript)
    aside = beside(*transcript) if mark else None
    # Do not shorten texts that are to be redacted: half a secret would not be recognized.
    longest = None if mask else 2 * STUB
    new, state, keep = _all_of(row, read_from(row, transcript, longest), old, mask)
    if mark is None or _end(transcript) != mark:
        return new, state, keep  # the transcript grew while it was read
    return new, state.at(mark)._replace(beside=_sum(aside or "")), keep


def _end(transcript: Found) -> FilePosition | None:
    try:
        return current_position(*transcript)
    except (OSError, CortextError):
        return None  # reading the transcript reports the error


def _all_of(
    row: ConversationRow, found: LoadedRow, old: State, mask: Redactor | None = None
) -> _New:
    """Return the new texts of a session that was read completely.

    If the texts in the index are still the first texts of the session, only the texts after them
    are new. Otherwise all texts are new.
    """
    told = _told(found.session.messages, mask)
    entries = [_entry(number, each) for number, each in enumerate(told, 1)]
    keep = 0 < old.held <= len(entries) and _digest(entries[: old.held]) == old.end
    new = entries[old.held :] if keep else entries
    said = redact_indexed_text(side_text(found.side), mask)
    side = _sum(said)
    if side != (old.side if keep else 0):
        new.insert(0, TextEntry(SIDE, "agents", row.last_active, spaced(plain(said))))
    return new, State(held=len(entries), end=_digest(entries), side=side), keep


def _told(messages: Sequence[SessionMessage], mask: Redactor | None) -> Iterable[SessionMessage]:
    """Return the messages, redacted with `mask` if it is given."""
    return messages if mask is None else (redact_message(each, mask) for each in messages)


def side_text(side: Iterable[Session]) -> str:
    """Return the text of all messages from and to sub-agents, whose sessions are in `side`."""
    return "\n".join(
        message.content
        for session in side
        for message in session.messages
        if message.role in ("user", "assistant")
    )


def _sum(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _digest(entries: Sequence[TextEntry], found: int = 0) -> int:
    """Return a checksum of the texts, continued from the checksum `found`.

    Texts are compared because some tools give messages no ids, and the last message may grow.
    """
    for entry in entries:
        found = crc32(entry.text.encode("utf-8", "replace"), found)
    return found


def _of_lines(row: ConversationRow, old: State) -> _New:
    """Return the new texts of a conversation or log, whose file has one message per line."""
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
        # A log gets a new inode whenever its head is written, so its inode is not compared.
        inode, size = 0 if row.tool else found.st_ino, found.st_size - begin
        keep = inode == old.inode and 0 < old.size <= size and _last(fd, begin, old.size) == old.end
        start, count = (old.size, old.held) if keep else (0, 0)
        data = read_range(fd, begin + start, begin + size)
        data = data[: data.rfind(b"\n") + 1]
        end = _last(fd, begin, start + len(data))
    finally:
        os.close(fd)
    new = list(_entries(data, table, start, count))
    return new, State("", inode, start + len(data), count + len(new), end), keep


def first_line_end(fd: int) -> int:
    """Return the byte after the first line of a log, where its messages begin."""
    step = 1 << 12
    while True:
        data = os.pread(fd, step, 0)
        cut = data.find(b"\n") + 1
        if cut or len(data) < step:
            return cut or len(data)
        step *= 16


def _last(fd: int, begin: int, size: int) -> int:
    """Return the checksum of the last bytes before `size`, which is counted from `begin`."""
    return crc32(read_range(fd, begin + max(size - _END, 0), begin + size))


def _entries(data: bytes, table: RecordTable, at: int, number: int) -> Iterator[TextEntry]:
    """Yield an index entry for each message in the lines `data`.

    `at` is the position of `data` in the file. `number` is the number of the message before.
    Messages are numbered as in `cortext show`: a line without a message has no number.
    """
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
) -> Iterator[TextEntry]:
    for line in lines:
        for message in decode_lines(line + b"\n", table).messages:
            number += 1
            yield _entry(number, message, at, len(line))
        at += len(line) + 1


def _entry(number: int, message: SessionMessage, at: int = 0, size: int = 0) -> TextEntry:
    if size > _LONGEST:
        at = size = 0
    text = wording(message)
    if message.role == "tool" and len(text) > 2 * STUB:
        text = f"{text[:STUB]}\n{text[-STUB:]}"
    if not text.isascii():
        text = spaced(plain(text))
    return TextEntry(number, message.role, micros(message.timestamp), text, at, size)


def fingerprint_of(row: ConversationRow) -> str:
    """Return a text that changes when a conversation's messages, head or markdown change."""
    known = row_fingerprint(row)
    return known if row.tool else f"{known}|{markdown_fingerprint(row)}"


def row_fingerprint(row: ConversationRow) -> str:
    """Return the part of a conversation's fingerprint that needs no file, only the row.

    Status and key are excluded, because they depend on the time and on other rows.
    """
    data = json_codec.encode(replace(row, status="", key=""))
    return f"{row.last_active} {crc32(data):x}"


def markdown_fingerprint(row: ConversationRow) -> str:
    """Return the fingerprint of a conversation's markdown file, or of its folder.

    Return "" if neither exists. The file nearly always has the name of the conversation type, so
    only that name is tried.
    """
    folder = row.absolute_path
    for path in (f"{folder}/{row.kind}.md", folder):
        try:
            found = os.stat(path)
        except OSError:
            continue
        return f"{found.st_size} {found.st_mtime_ns}"
    return ""
