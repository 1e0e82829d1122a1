"""Durable appends to a file of lines, such as `messages.jsonl`, that several processes write."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence

from cortext.durability.disk_sync import sync_data
from cortext.durability.file_lock import DEFAULT_WAIT, FileLock
from cortext.durability.last_lines import read_last_lines
from cortext.durability.read_files import read_file, read_range
from cortext.durability.replace_file import replace, storage_errors, write_all, write_new
from cortext.errors import SessionStorageError

FIRST_LOOK = 64 * 1024
FIRST_LINES = 100
_REMEMBERED = 8192
_OPEN = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Appender:
    """A file of lines that is open for appending; safe to use from several threads.

    `append` returns when the lines are on stable storage. A line with a known id is not written
    again. The appender knows the last few thousand ids that it or another process wrote. When the
    appender opens the file, it reads the ids of the last `first_lines` lines, and of at least the
    last 64 KB.

    `is_record` returns whether a line without a newline is complete, and `ids_in` returns the ids
    in a block of lines. `wait` is how many seconds to wait for the lock.

    A missing file raises FileNotFoundError. Any other failure raises SessionStorageError.
    """

    def __init__(
        self,
        path: str,
        lock_path: str,
        *,
        is_record: Callable[[bytes], bool],
        ids_in: Callable[[bytes], list[str]],
        wait: float = DEFAULT_WAIT,
        first_lines: int = FIRST_LINES,
    ) -> None:
        self._path = path
        self._first_lines = first_lines
        self._temp_dir = os.path.dirname(lock_path)
        self._lock = FileLock(lock_path, guards=path, wait=wait, keep_open=True)
        self._is_record = is_record
        self._ids_in = ids_in
        self._threads = threading.Lock()
        self._fd = -1
        self._pid = 0
        self._inode = -1
        self._seen = 0
        self._ids: dict[str, None] = {}

    def append(self, lines: Sequence[tuple[str, bytes]]) -> int:
        """Append the lines whose id is not in the file yet, and return the number of these lines.

        `lines` contains pairs of an id and a line. Each line includes its newline.
        """
        if self._pid and self._forked():
            # After a fork, the lock may be held by a thread that exists only in the parent.
            self._threads = threading.Lock()
        try:
            with self._threads:
                return self._append(lines)
        except FileNotFoundError:
            raise
        except OSError:
            with storage_errors("write", self._path):
                raise

    def close(self) -> None:
        with self._threads:
            self._drop()
            self._lock.close()

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def _append(self, lines: Sequence[tuple[str, bytes]]) -> int:
        with self._lock:
            now = os.lstat(self._path)
            if now.st_ino != self._inode or now.st_size != self._seen or self._forked():
                self._follow(now)
            new: dict[str, bytes] = {}
            for id, line in lines:
                if id not in self._ids:
                    new.setdefault(id, line)
            data = b"".join(new.values())
            fd, start = self._fd, self._seen
            self._write(data)
            self._remember(new)
        # Sync outside the lock, so that waiting writers share one journal commit. Sync even if
        # no line was new, because returning promises that all given lines are durable.
        try:
            sync_data(fd)
        except OSError as error:
            self._undo(fd, start, data, error)
            raise
        return len(new)

    def _drop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = self._inode = -1
        self._ids.clear()

    def _forked(self) -> bool:
        return self._pid != os.getpid()

    def _follow(self, now: os.stat_result) -> None:
        """Open the current file again if it was replaced, and read the ids that others appended.

        `now` is the `stat` result of the current file.
        """
        cut = False
        if now.st_ino != self._inode or self._forked():
            first = self._inode < 0
            self._drop()
            self._fd = os.open(self._path, _OPEN)
            now = os.fstat(self._fd)
            self._inode, self._pid = now.st_ino, os.getpid()
            # If another process replaced the file, read all of the new file, because it may
            # contain only some of our lines.
            self._seen = _first_look(self._fd, now.st_size, self._first_lines) if first else 0
            cut = self._seen > 0
        size = now.st_size
        if size < self._seen:
            self._seen = 0
            self._ids.clear()
        new = read_range(self._fd, self._seen, size)
        if new and not new.endswith(b"\n"):
            size = self._mend_tail()
            self._seen = min(self._seen, size)
            new = read_range(self._fd, self._seen, size)
        if cut:
            # The read began in the middle of a line: skip the rest of that line.
            new = new[new.find(b"\n") + 1 :]
        if new:
            self._remember(self._ids_in(new))
        self._seen = size

    def _mend_tail(self) -> int:
        """Repair a last line without a newline, and return the new size of the file.

        A complete record gets its newline. Any other text is moved to `PATH.torn`.
        """
        tail, _ = read_last_lines(self._path, 1)
        size = os.fstat(self._fd).st_size
        if self._is_record(tail):
            write_all(self._fd, b"\n")
            return size + 1
        write_new(_free_name(self._path + ".torn"), [tail])
        os.ftruncate(self._fd, size - len(tail))
        return size - len(tail)

    def _remember(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._ids[id] = None
        if len(self._ids) > _REMEMBERED:
            for id in list(self._ids)[: -_REMEMBERED // 2]:
                del self._ids[id]

    def _write(self, data: bytes) -> None:
        """Write to the end of the file. If the write fails, remove any part that was written."""
        try:
            written = os.write(self._fd, data)
            if written < len(data):
                write_all(self._fd, data[written:])
        except BaseException:
            os.ftruncate(self._fd, self._seen)
            raise
        self._seen += len(data)

    def _undo(self, fd: int, start: int, data: bytes, error: OSError) -> None:
        """Replace the file after a failed sync, because a second sync could wrongly succeed.

        If nobody wrote after our lines (`data` at offset `start`), the new file does not have them.
        Otherwise the new file is a full copy, and SessionStorageError says that our lines may be
        in the file.
        """
        with self._lock:
            end = os.fstat(fd).st_size
            if data and end == start + len(data) and self._is_current(fd):
                # Readers may know our lines already. They read again only if the file is new.
                self._rewrite(fd, read_range(fd, 0, start))
                return
            self._rewrite(fd, read_file(self._path))
        raise SessionStorageError(
            f"{self._path}: the disk reported an error, and what was appended may be present",
            path=self._path,
            errno=error.errno,
            hint="append it again: a message with the same id is not written twice",
        ) from error

    def _rewrite(self, fd: int, data: bytes) -> None:
        try:
            replace(self._path, [data], temp_dir=self._temp_dir)
        except OSError:
            os.ftruncate(fd, len(data))
            raise
        finally:
            self._drop()

    def _is_current(self, fd: int) -> bool:
        return os.fstat(fd).st_ino == os.stat(self._path).st_ino


def _first_look(fd: int, size: int, lines: int) -> int:
    """Return an offset from which at least `lines` lines and 64 KB follow, or 0.

    The offset may be in the middle of a line.
    """
    start, ended = size, 0
    while start > 0 and ended <= lines:
        end, start = start, max(start - FIRST_LOOK, 0)
        ended += read_range(fd, start, end).count(b"\n")
    return start


def _free_name(path: str) -> str:
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}-{number}"
    return name
