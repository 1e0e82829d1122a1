"""Sessions as logs: `{id}.jsonl`, whose first line is the head."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from cortext.durability.read import read_first_line
from cortext.durability.replace import (
    refuse_link,
    remove_if_there,
    remove_set_aside,
    replace,
    set_aside,
    side_dir,
    storage_errors,
)
from cortext.durability.sync import sync_dir
from cortext.formats import log
from cortext.formats.parts import Format
from cortext.formats.records import Damage, decode_lines
from cortext.model.ids import check_id
from cortext.model.session import Session
from cortext.stores.checks import at, read_session_file
from cortext.stores.lines import Files, LineStore, Stored
from cortext.stores.names import session_names

_SUFFIX = ".jsonl"
_LONGEST_HEAD = 1 << 16


class LogStore(LineStore):
    """A folder of logs. A change of the head rewrites the file under the lock; turns append."""

    format: ClassVar[Format] = log.LOG
    head_line: int | None = 1

    def exists(self, id: str) -> bool:
        return os.path.isfile(self._path(id))

    def list_session_ids(self) -> list[str]:
        return session_names(self._folder, _SUFFIX)

    def save(self, session: Session) -> None:
        files = self._files(session.id)
        with storage_errors("write", files.lines), self._lock(files):
            damaged = self._keep_others(session, files.lines)
            data = log.encode(session)
            if damaged:
                set_aside(files.lines, "corrupt")
            replace(files.lines, [data], temp_dir=side_dir(self._folder))
        self._known.note(session)
        self._changed(session.id)

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
        self._changed(session.id)

    def delete(self, id: str) -> bool:
        files = self._files(id)
        if not os.path.lexists(files.lines):
            return False
        with storage_errors("delete", files.lines), self._lock(files):
            there = remove_if_there(files.lines)
            remove_set_aside(files.lines)
            sync_dir(self._folder)
        self._forget(id)
        self._changed(id)
        return there

    def _path(self, id: str) -> str:
        return f"{self._folder}/{check_id(id)}{_SUFFIX}"

    def _files(self, id: str) -> Files:
        return Files(self._path(id), f"{self._folder}/.cortext/locks/{id}.lock")

    def _stored_head(self, files: Files) -> dict[str, Any]:
        return log.decode_head_line(read_first_line(files.lines, _LONGEST_HEAD), [])

    def _keep_others(self, session: Session, path: str) -> bool:
        """Others' new messages join ours; whether what is there is damaged."""
        if not os.path.lexists(path):
            return False
        refuse_link(path)
        reading = self._read(session.id).reading
        self._known.keep_others(session, reading.session)
        return bool(reading.damages)

    def _read(self, id: str) -> Stored:
        path = self._path(id)
        data, _ = read_session_file(id, path)
        cut = data.find(b"\n") + 1 or len(data)
        first = data[:cut].rstrip(b"\n")
        notes: list[str] = []
        head: dict[str, Any] = {}
        damages: list[Damage] = []
        first_line = 2
        try:
            head = log.decode_head_line(first, notes)
        except ValueError as error:
            damages.append(Damage(str(error) if first else "the file is empty", 1))
            if self._is_record(first):
                cut, first_line = 0, 1
        damages += [Damage(note, 1, fatal=False) for note in notes]
        lines = decode_lines(data, self.format.records, first_line, cut)
        lines.damages[:] = at(path, lines.damages)
        return self._join(id, path, head, damages, lines)

    @classmethod
    def _is_whole(cls, line: bytes) -> bool:
        return super()._is_whole(line) or cls._is_head(line)

    @classmethod
    def _is_head(cls, line: bytes) -> bool:
        try:
            log.decode_head_line(line, [])
        except ValueError:
            return False
        return True

    def _only_records(self, data: bytes, whole: bool) -> bytes:
        if not whole:
            return data
        head, _, rest = data.partition(b"\n")
        return rest if self._is_head(head) else data
