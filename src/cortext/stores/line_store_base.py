"""The base class of the log store and the folder store, which store one record in each line.

A record is a message with the tool calls before it. The head of a session is everything else, such
as its title and times.
"""

from __future__ import annotations

import errno
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from cortext import clock
from cortext.config import Config
from cortext.durability.append_lines import FIRST_LINES, Appender
from cortext.durability.durable_files import side_dir, storage_errors
from cortext.durability.file_lock import DEFAULT_WAIT, FileLock
from cortext.durability.read_files import read_last_lines
from cortext.errors import SessionNotFoundError, SessionStorageError
from cortext.formats.line_formats import (
    Format,
    StoredRecords,
    calls_in_head,
    join,
    with_checksums,
)
from cortext.formats.message_lines import (
    Damage,
    RecordBlock,
    decode_lines,
    decode_record,
    encode_record,
    record_ids,
)
from cortext.model import message_dicts
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores.damage_checks import at, name_mismatch, raise_if_damaged, refuse_newer
from cortext.stores.limited_cache import LimitedCache
from cortext.stores.port import Reading, SessionStore
from cortext.stores.save_merge import KnownRecords, check_tool_calls


class LinePaths(msgspec.Struct, frozen=True):
    """The path of the file with a session's messages, and the path of the session's lock file."""

    lines: str
    lock: str


class StoredSession(msgspec.Struct, frozen=True):
    """A session that was read from disk, with a list of its damage.

    `records` tells which tool calls are stored together with messages, and which tool calls are
    stored in the head (the part of a session without its messages).
    """

    reading: Reading
    records: StoredRecords


class LineStore(SessionStore):
    """The base class of session stores with one record in each line of a file.

    This class implements `append`, `tail`, `load` and `read`. Subclasses implement the other
    methods.
    """

    format: Format
    head_line: int | None = None
    """The line number of the head (all fields but the messages); None if it has its own file."""
    first_lines: int = FIRST_LINES
    """How many of the last lines are read when a session is opened for appending.

    A message whose id is in one of these lines is not stored again.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        lock_wait: float = DEFAULT_WAIT,
        on_change: Callable[[str], None] | None = None,
    ) -> None:
        self._folder: str = os.path.abspath(os.path.expanduser(folder))
        self._lock_wait = lock_wait
        self.on_change = on_change
        self._appenders: LimitedCache[Appender] = LimitedCache(64)

    @cached_property
    def _known(self) -> KnownRecords:
        return KnownRecords()

    @cached_property
    def _written_format(self) -> Format:
        """The format of new lines: with checksums if the setting `sessions.checksums` is on."""
        wanted = Config.load(None)["sessions.checksums"] == "on"
        return with_checksums(self.format) if wanted else self.format

    @property
    def folder(self) -> str:
        """The folder that this store was opened with, as an absolute path."""
        return self._folder

    @property
    def _shelf(self) -> str:
        """The folder that contains `.cortext`, the folder of the locks and temporary files."""
        return self._folder

    @abstractmethod
    def _files(self, id: str) -> LinePaths:
        """Return the paths of a session's files.

        A store that can compute the paths from the id does not check that the files exist. A store
        that must search for the session raises SessionNotFoundError if there is no such session.
        """

    @abstractmethod
    def _read(self, id: str) -> StoredSession: ...

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        table = self._written_format.records
        lines = [(message.id, encode_record(message, table)) for message in messages]
        if tool_invocations:
            check_tool_calls(messages, tool_invocations)
            lines[0] = messages[0].id, encode_record(messages[0], table, tool_invocations)
        try:
            new = self._appender(id).append(lines)
        except FileNotFoundError:
            # The session was moved or deleted: find its files again.
            self._forget(id)
            try:
                new = self._appender(id).append(lines)
            except FileNotFoundError:
                raise SessionNotFoundError(id) from None
        if self.on_change is not None:
            self.on_change(id)
        return new

    def load(self, id: str) -> Session:
        reading = self.read(id)
        raise_if_damaged(reading.damages)
        return reading.session

    def read(self, id: str) -> Reading:
        reading = self._read(id).reading
        self._known.note(reading.session)
        return reading

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        path = self._files(id).lines
        wanted = count
        while True:
            try:
                with storage_errors("read", path):
                    data, is_whole_file = read_last_lines(path, wanted)
            except SessionStorageError as error:
                if error.errno == errno.ENOENT:
                    raise SessionNotFoundError(id, path=path) from None
                raise
            messages = decode_lines(
                self._only_records(data, is_whole_file), self.format.records
            ).messages
            if len(messages) >= count or is_whole_file:
                return messages[-count:] if count > 0 else []
            wanted *= 4

    def close(self) -> None:
        for appender in self._appenders.clear():
            appender.close()

    def _only_records(self, data: bytes, is_whole_file: bool) -> bytes:
        """Return the lines of `data` that are records, without the line of the head.

        A record is a message with its tool calls. `data` is the end of a file, or the whole file if
        `is_whole_file` is true.
        """
        return data

    @abstractmethod
    def _stored_head(self, files: LinePaths) -> dict[str, Any]:
        """Return the stored head of a session: all fields except the messages.

        ValueError or OSError is raised if there is no readable head.
        """

    def _refuse_newer(self, files: LinePaths) -> None:
        """Raise NewerVersionError if a later version of cortext wrote the session."""
        try:
            head = self._stored_head(files)
        except (OSError, ValueError):
            return
        refuse_newer(head, files.lines)

    @classmethod
    def _is_record(cls, line: bytes) -> bool:
        try:
            decode_record(line, cls.format.records, [])
        except ValueError:
            return False
        return True

    @classmethod
    def _is_complete_line(cls, line: bytes) -> bool:
        """Return whether the last line of a file is complete.

        `line` is the last line. It does not end with a newline.
        """
        return cls._is_record(line)

    def _appender(self, id: str) -> Appender:
        """Return the appender of a session, which keeps the session's file open.

        A cached appender is returned without a check of the id, so that repeated appends are fast.
        """
        appender = self._appenders.get(id) if type(id) is str else None
        return appender or self._open_appender(id)

    def _open_appender(self, id: str) -> Appender:
        files = self._files(id)
        if not os.path.lexists(files.lines):
            raise SessionNotFoundError(id, path=files.lines)
        with storage_errors("write", files.lines):
            self._before_appending(id)
            self._refuse_newer(files)
            side_dir(self._shelf)
        appender = Appender(
            files.lines,
            files.lock,
            is_record=self._is_complete_line,
            ids_in=record_ids,
            wait=self._lock_wait,
            first_lines=self.first_lines,
        )
        dropped = self._appenders.put(id, appender)
        if dropped is not None:
            dropped.close()
        return appender

    def _before_appending(self, id: str) -> None:
        """Raise OSError if the session must not be written, for example through a symbolic link."""

    def _forget(self, id: str) -> None:
        appender = self._appenders.pop(id)
        if appender is not None:
            appender.close()

    def _lock(self, files: LinePaths) -> FileLock:
        side_dir(self._shelf)
        return FileLock(files.lock, guards=files.lines, wait=self._lock_wait)

    def _notify(self, id: str) -> None:
        if self.on_change is not None:
            self.on_change(id)

    def _join(
        self, id: str, path: str, head: dict[str, Any], damages: list[Damage], lines: RecordBlock
    ) -> StoredSession:
        """Build a session from its decoded head and its messages.

        `head` has the title, the times and so on. `lines` has the messages. `damages` lists the
        damage of the head, and `path` is the path of the file with the head. If the head is
        unusable, a new head is made from the messages, and the result lists the damage.
        """
        refuse_newer(head, path)
        in_lines = frozenset(call.id for _, call in lines.invocations)
        try:
            in_head = calls_in_head(head)
            session = join(head, lines, self.format)
            damages = damages + name_mismatch(session.id, id)
        except ValueError as error:
            if not any(damage.fatal for damage in damages):
                damages = [*damages, Damage(str(error), self.head_line)]
            in_head = []
            session = join(self._make_head(lines, path), lines, self.format)
        session.id = id
        reading = Reading(session, [*at(path, damages), *lines.damages])
        return StoredSession(reading, StoredRecords(lines.messages, in_lines, in_head))

    def _make_head(self, lines: RecordBlock, path: str) -> dict[str, Any]:
        when = lines.messages[0].timestamp if lines.messages else self._guess_start(path)
        return {"created_at": message_dicts.iso(when)}

    def _guess_start(self, path: str) -> datetime:
        """Guess when a session began if it has neither a usable head nor messages.

        `path` is the path of the file with the unusable head.
        """
        try:
            return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
        except FileNotFoundError:
            return clock.now()  # The file was deleted after it was read.
