"""The log store: each session is a file `{id}.jsonl`.

The first line is the head, which is everything of a session except its messages. Every other line
is a record: a message with the tool calls before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import msgspec

from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    refuse_link,
    remove_if_there,
    remove_set_aside,
    replace,
    set_aside,
    side_dir,
    storage_errors,
    sweep_temps,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_blocks, read_first_line
from cortext.errors import SessionNotFoundError
from cortext.formats import log
from cortext.formats.line_formats import Format, StoredRecords, calls_in_head, join
from cortext.formats.message_lines import Damage, RecordBlock, decode_lines
from cortext.model.ids import check_id
from cortext.model.session import Session
from cortext.stores.damage_checks import at, raise_if_damaged, read_session_file, refuse_newer
from cortext.stores.ids_in_folder import session_names
from cortext.stores.line_store_base import LinePaths, LineStore, StoredSession

_SUFFIX = ".jsonl"
_LONGEST_HEAD = 1 << 16
# A larger buffer needs new memory pages for each read, and getting them takes longer than reading.
_BLOCK = 1 << 18


class _FirstLine(msgspec.Struct, frozen=True):
    """Line 1 of a log: the decoded head (title, times and so on), and the damage of the line.

    The messages begin at the byte offset `cut`, and at the line with the number `line`.
    """

    head: dict[str, Any]
    damages: list[Damage]
    cut: int
    line: int


class LogStore(LineStore):
    """A session store in a folder of log files.

    An append writes at the end of a session's file. A change of the head rewrites the file. The
    file is locked meanwhile.
    """

    format: Format = log.LOG
    head_line: int | None = 1

    def exists(self, id: str) -> bool:
        return os.path.isfile(self._path(id))

    def list_session_ids(self) -> list[str]:
        return session_names(self._folder, _SUFFIX)

    def save(self, session: Session) -> None:
        files = self._files(session.id)
        with storage_errors("write", files.lines), self._lock(files):
            damaged = self._add_others_messages(session, files.lines)
            data = log.encode(session, self._written_format)
            if damaged:
                set_aside(files.lines, "corrupt")
            replace(files.lines, [data], temp_dir=side_dir(self._folder))
        self._known.note(session)
        self._notify(session.id)

    def checkpoint(self, session: Session) -> None:
        files = self._files(session.id)
        path = files.lines
        with storage_errors("write", path), self._lock(files):
            stored = self._read(session.id)
            head = log.encode_head_line(session, stored.records)
            data, _ = read_session_file(session.id, path)
            first, _, rest = data.partition(b"\n")
            if self._is_record(first):
                rest = data
            elif any(damage.line == 1 for damage in stored.reading.damages):
                set_aside(path, "corrupt")
            replace(path, [head, rest], temp_dir=side_dir(self._folder))
        self._notify(session.id)

    def head(self, id: str) -> Session:
        """Return a session without its messages. Only line 1 (the head) of its file is read.

        SessionCorruptedError is raised if line 1 is not a head.
        """
        for data in self._blocks(id, _LONGEST_HEAD):
            return self._decode_head(id, data)
        return self._decode_head(id, b"")

    def amend(self, id: str, **fields: Any) -> Session:
        """Set attributes of a session, such as `title="New"`, and store them.

        Return the session without its messages. The stored messages are copied without being
        decoded. SessionCorruptedError is raised if line 1 is not a head.
        """
        files = self._files(id)
        with storage_errors("write", files.lines), self._lock(files):
            blocks = self._blocks(id)
            data = next(blocks, b"")
            session = self._decode_head(id, data)
            for name, value in fields.items():
                setattr(session, name, value)
            first = self._decode_first_line(data)
            stored = StoredRecords([], frozenset(), calls_in_head(first.head))
            line = log.encode_head_line(session, stored)
            rest = chain([line, memoryview(data)[first.cut :]], blocks)
            replace(files.lines, rest, temp_dir=side_dir(self._folder))
        self._notify(id)
        return session

    def blocks(self, id: str, size: int = _BLOCK) -> Iterator[RecordBlock]:
        """Yield the records (messages with tool calls) of a session in order, block by block.

        Use this method for a session that does not fit into memory. `size` is the approximate size
        of a block in bytes. The first block also lists the damage of the head.
        """
        path, line = self._path(id), 1
        for data in self._blocks(id, size):
            first = self._decode_first_line(data) if line == 1 else _FirstLine({}, [], 0, line)
            block = decode_lines(data, self.format.records, first.line, first.cut)
            block.damages[:] = at(path, [*first.damages, *block.damages])
            yield block
            line += data.count(b"\n")

    def changing(self, id: str) -> FileLock:
        """Return the lock of a session, to be used in a `with` statement.

        While a caller holds the lock, no other process or thread can write to the session.
        """
        return self._lock(self._files(id))

    def delete(self, id: str, *, unless: Callable[[], bool] | None = None) -> bool:
        """Remove a session permanently, and return whether it was removed.

        Its side files, such as `*.torn`, are removed too. `unless` is called while the session is
        locked against other writers. If `unless` returns True, nothing is removed.
        """
        files = self._files(id)
        if not os.path.lexists(files.lines):
            return False
        with storage_errors("delete", files.lines), self._lock(files):
            if unless is not None and unless():
                return False
            existed = remove_if_there(files.lines)
            remove_set_aside(files.lines)
            sync_dir(self._folder)
            sweep_temps(side_dir(self._folder))
        self._forget(id)
        self._notify(id)
        return existed

    def _path(self, id: str) -> str:
        return f"{self._folder}/{check_id(id)}{_SUFFIX}"

    def _files(self, id: str) -> LinePaths:
        return LinePaths(self._path(id), f"{self._folder}/.cortext/locks/{id}.lock")

    def _stored_head(self, files: LinePaths) -> dict[str, Any]:
        return log.decode_head_line(read_first_line(files.lines, _LONGEST_HEAD), [])

    def _add_others_messages(self, session: Session, path: str) -> bool:
        """Add to `session` the messages that other writers stored in the file at `path`.

        Return whether the file is damaged.
        """
        if not os.path.lexists(path):
            return False
        refuse_link(path)
        reading = self._read(session.id).reading
        self._known.add_others_records(session, reading.session)
        return bool(reading.damages)

    def _read(self, id: str) -> StoredSession:
        path = self._path(id)
        data, _ = read_session_file(id, path)
        first = self._decode_first_line(data)
        lines = decode_lines(data, self.format.records, first.line, first.cut)
        lines.damages[:] = at(path, lines.damages)
        return self._join(id, path, first.head, first.damages, lines)

    def _decode_first_line(self, data: bytes) -> _FirstLine:
        """Decode line 1 (the head) of a log.

        `data` is the beginning of the file and contains at least the whole line.
        """
        cut = data.find(b"\n") + 1 or len(data)
        line = data[:cut].rstrip(b"\n")
        notes: list[str] = []
        try:
            head = log.decode_head_line(line, notes)
        except ValueError as error:
            damage = Damage(str(error) if line else "the file is empty", 1)
            return _FirstLine({}, [damage], *((0, 1) if self._is_record(line) else (cut, 2)))
        return _FirstLine(head, [Damage(note, 1, fatal=False) for note in notes], cut, 2)

    def _decode_head(self, id: str, data: bytes) -> Session:
        """Decode the head (line 1) of a session. `data` is the beginning of its file.

        SessionCorruptedError is raised if line 1 is not a head.
        """
        path, first = self._path(id), self._decode_first_line(data)
        raise_if_damaged(at(path, first.damages))
        refuse_newer(first.head, path)
        try:
            session = join(first.head, RecordBlock([], [], []), self.format)
        except ValueError as error:
            raise_if_damaged(at(path, [Damage(str(error), 1)]))
            raise
        session.id, session.tool_history = id, []
        return session

    def _blocks(self, id: str, size: int = _BLOCK) -> Iterator[bytes]:
        path = self._path(id)
        with storage_errors("read", path):
            try:
                yield from read_blocks(path, size)
            except FileNotFoundError:
                raise SessionNotFoundError(id, path=path) from None

    @classmethod
    def _is_complete_line(cls, line: bytes) -> bool:
        return super()._is_complete_line(line) or cls._is_head(line)

    @classmethod
    def _is_head(cls, line: bytes) -> bool:
        try:
            log.decode_head_line(line, [])
        except ValueError:
            return False
        return True

    def _only_records(self, data: bytes, is_whole_file: bool) -> bytes:
        if not is_whole_file:
            return data
        head, _, rest = data.partition(b"\n")
        return rest if self._is_head(head) else data
