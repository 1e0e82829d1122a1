"""Append lines durably to a file, such as `messages.jsonl`, that several processes write to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence

from cortext.durability.disk_sync import sync_data
from cortext.durability.durable_files import replace, storage_errors, write_all, write_new
from cortext.durability.file_lock import DEFAULT_WAIT, FileLock
from cortext.durability.read_files import read_file, read_last_lines, read_range
from cortext.errors import SessionStorageError

FIRST_LOOK = 64 * 1024
FIRST_LINES = 100
_MOST_IDS = 8192
_OPEN = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Appender:
    """Appends lines durably to the file `path`, which other threads and processes may write too.

    - `lock_path`: the path of the lock file. Temporary files are written to the folder of this file
    - `is_record`: a function that is called with a last line without a newline, and returns whether
      the line is complete
    - `ids_in`: a function that is called with some lines of the file, and returns their ids
    - `wait`: the number of seconds to wait for the lock
    - `first_lines`: the number of lines at the end of the file whose ids are read when the file is
      first opened. At least the last 64 KB are read, even if they have more lines

    Every line has an id. A line whose id is known is not written again. The appender knows the last
    few thousand ids, including those of lines that other processes wrote.

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
        self._thread_lock = threading.Lock()
        self._fd = -1
        self._pid = 0
        self._inode = -1
        self._end = 0
        self._ids: dict[str, None] = {}

    def append(self, lines: Sequence[tuple[str, bytes]]) -> int:
        """Append the lines whose ids are not known yet, and return the number of these lines.

        `lines` contains pairs of an id and a line. Each line includes its newline. When the method
        returns, all of the lines are on stable storage.
        """
        if self._pid and self._is_forked():
            # After a fork, the lock may be held by a thread that exists only in the parent.
            self._thread_lock = threading.Lock()
        try:
            with self._thread_lock:
                return self._append(lines)
        except FileNotFoundError:
            raise
        except OSError:
            with storage_errors("write", self._path):
                raise

    def close(self) -> None:
        with self._thread_lock:
            self._close_file()
            self._lock.close()

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def _append(self, lines: Sequence[tuple[str, bytes]]) -> int:
        with self._lock:
            status = os.lstat(self._path)
            if status.st_ino != self._inode or status.st_size != self._end or self._is_forked():
                self._catch_up(status)
            new: dict[str, bytes] = {}
            for id, line in lines:
                if id not in self._ids:
                    new.setdefault(id, line)
            data = b"".join(new.values())
            fd, start = self._fd, self._end
            self._write(data)
            self._remember(new)
        # Sync outside the lock, so that waiting writers share one journal commit. Sync even if no
        # line was new: another process may have written the lines and not synced them yet.
        try:
            sync_data(fd)
        except OSError as error:
            self._undo(fd, start, data, error)
            raise
        return len(new)

    def _close_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = self._inode = -1
        self._ids.clear()

    def _is_forked(self) -> bool:
        return self._pid != os.getpid()

    def _catch_up(self, status: os.stat_result) -> None:
        """Read the ids of the lines that other processes appended.

        If the file was replaced, the new file is opened. `status` is the `stat` result of the file
        that is now at the path.
        """
        starts_inside_line = False
        if status.st_ino != self._inode or self._is_forked():
            is_first_open = self._inode < 0
            self._close_file()
            self._fd = os.open(self._path, _OPEN)
            status = os.fstat(self._fd)
            self._inode, self._pid = status.st_ino, os.getpid()
            # If another process replaced the file, read all of the new file, because it may
            # contain only some of our lines.
            self._end = (
                _first_read_offset(self._fd, status.st_size, self._first_lines)
                if is_first_open
                else 0
            )
            starts_inside_line = self._end > 0
        size = status.st_size
        if size < self._end:
            self._end = 0
            self._ids.clear()
        new = read_range(self._fd, self._end, size)
        if new and not new.endswith(b"\n"):
            size = self._repair_tail()
            self._end = min(self._end, size)
            new = read_range(self._fd, self._end, size)
        if starts_inside_line:
            # The read began in the middle of a line: skip the rest of that line.
            new = new[new.find(b"\n") + 1 :]
        if new:
            self._remember(self._ids_in(new))
        self._end = size

    def _repair_tail(self) -> int:
        """Repair a last line without a newline, and return the new size of the file.

        If the line is a complete record, a newline is added. If the line is incomplete, it is moved
        to the new file `PATH.torn`.
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
        if len(self._ids) > _MOST_IDS:
            for id in list(self._ids)[: -_MOST_IDS // 2]:
                del self._ids[id]

    def _write(self, data: bytes) -> None:
        """Write `data` to the end of the file. If this fails, remove the part that was written."""
        try:
            written = os.write(self._fd, data)
            if written < len(data):
                write_all(self._fd, data[written:])
        except BaseException:
            os.ftruncate(self._fd, self._end)
            raise
        self._end += len(data)

    def _undo(self, fd: int, start: int, data: bytes, error: OSError) -> None:
        """Remove the lines that this process has just appended, because their sync failed.

        `data` has these lines, `start` is their offset, and `error` is the error of the sync. The
        file is written again without the lines. (Another sync of the old file could wrongly report
        success.) If another process has already written to the file too, the lines stay. The method
        then raises a SessionStorageError, which says that the lines may or may not be stored.
        """
        with self._lock:
            end = os.fstat(fd).st_size
            if data and end == start + len(data) and self._is_current(fd):
                # Readers that already read our lines read the file again only if it is new.
                self._rewrite(fd, read_range(fd, 0, start))
                return
            self._rewrite(fd, read_file(self._path))
        raise SessionStorageError(
            f"{self._path}: the disk reported an error; the append may or may not be stored",
            path=self._path,
            errno=error.errno,
            hint="append again; a message with the same id is stored only once",
        ) from error

    def _rewrite(self, fd: int, data: bytes) -> None:
        try:
            replace(self._path, [data], temp_dir=self._temp_dir)
        except OSError:
            os.ftruncate(fd, len(data))
            raise
        finally:
            self._close_file()

    def _is_current(self, fd: int) -> bool:
        return os.fstat(fd).st_ino == os.stat(self._path).st_ino


def _first_read_offset(fd: int, size: int, lines: int) -> int:
    """Return the offset at which to start to read the end of a file of `size` bytes.

    At least `lines` lines and 64 KB follow this offset. If the file has fewer lines or bytes, the
    offset is 0. The offset may be in the middle of a line.
    """
    start, newlines = size, 0
    while start > 0 and newlines <= lines:
        end, start = start, max(start - FIRST_LOOK, 0)
        newlines += read_range(fd, start, end).count(b"\n")
    return start


def _free_name(path: str) -> str:
    number, name = 1, path
    while os.path.lexists(name):
        number += 1
        name = f"{path}-{number}"
    return name
