"""Read the texts of a conversation that the full-text index does not have yet."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from cortext.catalog.fulltext.fulltext_index import MARKDOWN, SIDE, TITLE, TextEntry, Work
from cortext.catalog.rebuildable_database import micros, plain
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import first_line_end, open_file, read_file, read_range
from cortext.errors import CortextError, file_and_reason
from cortext.features.capture.transcripts import Found, beside, current_position, read_new_messages
from cortext.features.listing.session_of_row import LoadedRow, read_all, read_from, transcript_of
from cortext.features.search.conversation_change_fingerprint import fingerprint_of
from cortext.features.secrets.index_redactions import (
    find_redactor,
    redact_indexed_text,
    redact_message,
)
from cortext.features.secrets.redactor import Redactor
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.message_lines import RecordTable, decode_lines
from cortext.formats.text_search.search_query import spaced
from cortext.formats.text_search.searchable_text import searchable_text_of, subagents_text
from cortext.model.message import SessionMessage
from cortext.stores import workspace_layout
from cortext.tools.new_transcript_lines import FilePosition
from cortext.workspace.conversation_types import Types

_log = logging.getLogger("cortext.features")
STUB = 300
"""The number of characters that are indexed at the start of a long tool result.

The same number is indexed at its end, because error messages are usually there.
"""
_CHECKED_BYTES = 64
"""The number of bytes at the end of the indexed part of a file whose checksum is stored.

If the checksum is the same at the next refresh, the indexed part counts as unchanged.
"""
_MAX_SIZE = 2**32 - 1
_NewTexts = tuple[list[TextEntry], "State", bool]
"""The new texts, the state to store, and whether the texts that are already indexed stay."""


class State(NamedTuple):
    """The state of one conversation in the full-text index: which of its texts are indexed.

    The index stores the state as text.

    - `inode` identifies the file, and `size` is the number of its indexed bytes.
    - `messages` is the number of indexed messages.
    - `end` is a checksum of the last indexed bytes if the file has one message per line. Otherwise
      it is a checksum of all indexed texts.
    - `title`, `document` and `side` are checksums of the title, the markdown file and the messages
      of sub-agents.
    - `lines`, `last` and `beside` are only for transcripts. `lines` and `last` are parts of the
      `FilePosition`. `beside` is a checksum that changes with the files of sub-agents.
    """

    fingerprint: str = ""
    inode: int = 0
    size: int = 0
    messages: int = 0
    end: int = 0
    title: int = 0
    document: int = 0
    side: int = 0
    lines: int = 0
    last: int = 0
    beside: int = 0

    @property
    def position(self) -> FilePosition:
        """The position in the transcript up to which its messages are indexed."""
        return FilePosition(self.inode, self.size, self.lines, f"{self.last:032x}")

    def at(self, position: FilePosition) -> State:
        """Return a copy of this state with another position in the transcript."""
        last = int(position.end or "0", 16)
        return self._replace(
            inode=position.inode, size=position.size, lines=position.lines, last=last
        )

    @classmethod
    def read(cls, text: str) -> State:
        """Parse the string form of a state. An empty text means that nothing is indexed."""
        fingerprint, _, numbers = text.partition("\n")
        return cls(fingerprint, *map(int, numbers.split()))

    def __str__(self) -> str:
        return f"{self.fingerprint}\n{' '.join(map(str, self[1:]))}"


def read_new(row: ConversationRow, known: str) -> Work | None:
    """Read the texts of a conversation that are not in the index yet.

    `known` is the state that the index stores for the conversation, or "". Return the work for the
    index: the new state, the new texts, and whether the indexed texts stay. Return None if the
    conversation cannot be read. Its indexed texts then stay, and the next refresh tries again.
    """
    # Take the fingerprint first, so that a write during the read counts as new next time.
    old, fingerprint = State.read(known), fingerprint_of(row)
    try:
        if row.tool and not row.is_log:
            new, state, keep = _read_tool_session(row, old)
        else:
            new, state, keep = _read_lines(row, old)
        more, state = _read_title_and_markdown(
            row, old if keep else State(), state._replace(fingerprint=fingerprint)
        )
    except FileNotFoundError:
        return None
    except (OSError, CortextError) as error:
        _log.warning("%s cannot be searched: %s", row.key, file_and_reason(error))
        return None
    return row.identity, str(state), [*more, *new], keep


def _read_title_and_markdown(
    row: ConversationRow, old: State, state: State
) -> tuple[list[TextEntry], State]:
    """Return index entries for the title and the markdown file, if they changed.

    The entry for the title includes the summary. `old` has the checksums of the last refresh. Also
    return a copy of `state` with the new checksums.
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
        text = spaced(plain(_without_template(data.decode("utf-8", "replace"), row)))
        new.append(TextEntry(MARKDOWN, "document", row.last_active, text))
    return new, state


def _without_template(markdown: str, row: ConversationRow) -> str:
    """Return a conversation's markdown without the lines that come from its template."""
    template_lines = set(Types(row.workspace).template(row.kind).split("\n"))
    return "\n".join([line for line in markdown.split("\n") if line not in template_lines])


def _read_tool_session(row: ConversationRow, old: State) -> _NewTexts:
    """Return the new texts of a tool session or of a document.

    Only the new part of a transcript is read, if possible. A document is read completely.
    """
    if row.is_standalone:
        return _new_texts(row, read_all(row), old)
    transcript = transcript_of(row)
    redactor = find_redactor(row.tool, row.key, transcript[1].path)
    try:
        appended = _read_appended(transcript, old, redactor) if old.size else None
    except (OSError, CortextError):
        appended = None  # reading the whole transcript reports the error
    return appended or _read_whole_transcript(row, transcript, old, redactor)


def _read_appended(transcript: Found, old: State, redactor: Redactor | None) -> _NewTexts | None:
    """Return the texts that were added to a transcript since the state `old` was stored.

    Return None if the whole transcript must be read. If `redactor` is given, it redacts the texts.
    """
    side_files = beside(*transcript)
    if old.side if side_files is None else _text_checksum(side_files) != old.beside:
        return None
    changed = read_new_messages(*transcript, old.position)
    # A tool may update the record of a user's message later, but not the text.
    if changed is None or any(message.role != "user" for message in changed.again):
        return None
    messages = _redact_all(changed.new, redactor)
    new = [_entry(number, each) for number, each in enumerate(messages, old.messages + 1)]
    state = old._replace(messages=old.messages + len(new), end=_entries_checksum(new, old.end))
    return new, state.at(changed.mark), True


def _read_whole_transcript(
    row: ConversationRow, transcript: Found, old: State, redactor: Redactor | None
) -> _NewTexts:
    """Read a whole transcript. Return its new texts, and a state for the next refresh."""
    position = _end_position(transcript)
    side_files = beside(*transcript) if position else None
    # Do not shorten texts that are to be redacted: half a secret would not be recognized.
    max_result = None if redactor else 2 * STUB
    new, state, keep = _new_texts(row, read_from(row, transcript, max_result), old, redactor)
    if position is None or _end_position(transcript) != position:
        return new, state, keep  # the transcript grew while it was read
    return new, state.at(position)._replace(beside=_text_checksum(side_files or "")), keep


def _end_position(transcript: Found) -> FilePosition | None:
    try:
        return current_position(*transcript)
    except (OSError, CortextError):
        return None  # reading the transcript reports the error


def _new_texts(
    row: ConversationRow, found: LoadedRow, old: State, redactor: Redactor | None = None
) -> _NewTexts:
    """Return the new texts of a session that was read completely.

    If the session still begins with the texts that are in the index, only the texts after them are
    new. Otherwise all texts are new.
    """
    messages = _redact_all(found.session.messages, redactor)
    entries = [_entry(number, each) for number, each in enumerate(messages, 1)]
    keep = (
        0 < old.messages <= len(entries) and _entries_checksum(entries[: old.messages]) == old.end
    )
    new = entries[old.messages :] if keep else entries
    side_messages = redact_indexed_text(subagents_text(found.side), redactor)
    side = _text_checksum(side_messages)
    if side != (old.side if keep else 0):
        shown = plain(side_messages)
        entry = TextEntry(SIDE, "agents", row.last_active, spaced(shown), shown=shown)
        new.insert(0, entry)
    return new, State(messages=len(entries), end=_entries_checksum(entries), side=side), keep


def _redact_all(
    messages: Sequence[SessionMessage], redactor: Redactor | None
) -> Iterable[SessionMessage]:
    return messages if redactor is None else (redact_message(each, redactor) for each in messages)


def _text_checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _entries_checksum(entries: Sequence[TextEntry], checksum: int = 0) -> int:
    """Return a checksum of the texts of index entries.

    `checksum` is the checksum of the entries before these entries. The result shows whether any
    text has changed. Message ids cannot show this, because some tools give messages no ids, and the
    text of the last message may grow.
    """
    for entry in entries:
        checksum = crc32(entry.text.encode("utf-8", "replace"), checksum)
    return checksum


def _read_lines(row: ConversationRow, old: State) -> _NewTexts:
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
        status = os.fstat(fd)
        # A log gets a new inode whenever its head is written, so its inode is not compared.
        inode, size = 0 if row.tool else status.st_ino, status.st_size - begin
        keep = (
            inode == old.inode
            and 0 < old.size <= size
            and _end_checksum(fd, begin, old.size) == old.end
        )
        start, count = (old.size, old.messages) if keep else (0, 0)
        data = read_range(fd, begin + start, begin + size)
        data = data[: data.rfind(b"\n") + 1]
        end = _end_checksum(fd, begin, start + len(data))
    finally:
        os.close(fd)
    new = list(_entries(data, table, start, count))
    return new, State("", inode, start + len(data), count + len(new), end), keep


def _end_checksum(fd: int, begin: int, size: int) -> int:
    """Return the checksum of the last bytes of the indexed part of a file.

    The indexed part has `size` bytes and starts at the position `begin`.
    """
    return crc32(read_range(fd, begin + max(size - _CHECKED_BYTES, 0), begin + size))


def _entries(data: bytes, table: RecordTable, at: int, number: int) -> Iterator[TextEntry]:
    """Yield an index entry for each message in the lines `data`.

    `table` is the record format of the lines. `at` is the position of `data` in the file. `number`
    is the number of the last message before `data`. Messages are numbered as in `cortext show`: a
    line without a message has no number.
    """
    lines = data.split(b"\n")[:-1]
    messages = decode_lines(data, table).messages
    if len(messages) != len(lines):
        yield from _entries_by_line(lines, table, at, number)
        return
    for line, message in zip(lines, messages, strict=True):
        number += 1
        yield _entry(number, message, at, len(line))
        at += len(line) + 1


def _entries_by_line(
    lines: Sequence[bytes], table: RecordTable, at: int, number: int
) -> Iterator[TextEntry]:
    for line in lines:
        for message in decode_lines(line + b"\n", table).messages:
            number += 1
            yield _entry(number, message, at, len(line))
        at += len(line) + 1


def _entry(number: int, message: SessionMessage, at: int = 0, size: int = 0) -> TextEntry:
    if size > _MAX_SIZE:
        at = size = 0
    text = searchable_text_of(message)
    if message.role == "tool" and len(text) > 2 * STUB:
        text = f"{text[:STUB]}\n{text[-STUB:]}"
    shown = ""
    if not text.isascii():
        shown = plain(text)
        text = spaced(shown)
    return TextEntry(number, message.role, micros(message.timestamp), text, at, size, shown)
