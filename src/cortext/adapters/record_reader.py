"""Incremental reading of a session: each record (stored message) is read only once."""

from __future__ import annotations

from os import close, fstat

from cortext.adapters.session_log import log
from cortext.durability.read_files import open_file, read_range
from cortext.errors import SessionNotFoundError
from cortext.formats.log import LOG
from cortext.formats.message_lines import decode_lines
from cortext.model.message import SessionMessage
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.servers.stored_session_parts import RecordPosition


class Follower:
    """A reader of one session. Each call of `new` returns the records added since the last call.

    Damaged lines of a session file are logged and skipped. Do not share a reader between threads.
    """

    def __init__(self, store: SessionStore, id: str) -> None:
        self._store, self._id = store, id
        self._inode, self._seen = 0, 0
        self._first = ""
        self._head = b""
        self._position = RecordPosition()

    def new(self) -> tuple[bool, list[SessionMessage]]:
        """Read the new records of the session, and return the pair `(is_reset, records)`.

        If `is_reset` is False, `records` are the records that were added since the last call. If it
        is True, `records` are all records, and the caller must drop the records of earlier calls.
        This happens at the first reading, and after the session was replaced or removed.
        """
        if isinstance(self._store, LogStore):
            return self._new_lines(f"{self._store.folder}/{self._id}.jsonl")
        if isinstance(self._store, ServedStore):
            self._position, is_reset, added = self._store.since(self._id, self._position)
            return is_reset, added
        try:
            messages = self._store.read(self._id).session.messages
        except SessionNotFoundError:
            messages = list[SessionMessage]()
        first = messages[0].id if messages else ""
        is_reset = first != self._first or len(messages) < self._seen
        start = 0 if is_reset else self._seen
        self._first, self._seen = first, len(messages)
        return is_reset, messages[start:]

    def forget(self) -> None:
        """Make the next call of `new` read the session from its beginning."""
        self._inode, self._seen, self._first = 0, 0, "?"
        self._position = RecordPosition("?")

    def _new_lines(self, path: str) -> tuple[bool, list[SessionMessage]]:
        try:
            fd = open_file(path)
        except FileNotFoundError:
            was_there = self._inode != 0
            self._inode = self._seen = 0
            return was_there, []
        try:
            stat = fstat(fd)
            same = stat.st_ino == self._inode and stat.st_size >= self._seen
            # A new file can get the inode number of a file that was replaced or removed.
            is_reset = not same or read_range(fd, 0, len(self._head)) != self._head
            start = 0 if is_reset else self._seen
            data = read_range(fd, start, stat.st_size)
        finally:
            close(fd)
        # A last line without a newline is still being written, so it is read at the next call.
        data = data[: data.rfind(b"\n") + 1]
        self._inode, self._seen = stat.st_ino, start + len(data)
        if is_reset:
            self._head = data[: data.find(b"\n") + 1]
        lines = decode_lines(data, LOG.records, start=len(self._head) if is_reset else 0)
        for damage in lines.damages:
            log.warning("%s: %s", path, damage.detail)
        return is_reset, lines.messages
