"""Functions that read regular files, without locks."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator

CHUNK = 32 * 1024
"""The number of bytes that `read_last_lines` reads first."""


def open_file(path: str) -> int:
    """Open a regular file for reading, and return its file descriptor.

    Raises OSError if the path is a folder, a pipe or a device.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EISDIR, "not a regular file", path)
    return fd


def read_file(path: str) -> bytes:
    """Return all bytes of a file."""
    return read_file_and_stat(path)[0]


def read_small_file(path: str, most: int) -> bytes:
    """Return all bytes of a file. Raises OSError if the file is larger than `most` bytes."""
    fd = open_file(path)
    try:
        size = os.fstat(fd).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", path)
        return read_range(fd, 0, size)
    finally:
        os.close(fd)


def read_file_and_stat(path: str) -> tuple[bytes, os.stat_result]:
    """Return all bytes of a file, and the `stat` result of the same file."""
    fd = open_file(path)
    try:
        status = os.fstat(fd)
        return read_range(fd, 0, status.st_size), status
    finally:
        os.close(fd)


def read_first_line(path: str, most: int) -> bytes:
    """Return the first line of a file without its newline, but at most `most` bytes of it."""
    fd = open_file(path)
    try:
        return os.pread(fd, most, 0).partition(b"\n")[0]
    finally:
        os.close(fd)


def stat_all(fd: int, names: Iterable[str]) -> list[int]:
    """Return the modification time, the size and the inode of each file, in one flat list.

    The times are in nanoseconds. `fd` is an open folder, and `names` has the names of files in it.
    All three numbers are -1 for a missing file or a broken link.
    """
    numbers: list[int] = []
    stat = os.stat
    # A plain loop, because listing many conversations spends most of its time in this function.
    for name in names:
        try:
            status = stat(name, dir_fd=fd)
        except OSError:
            numbers += (-1, -1, -1)
        else:
            numbers += (status.st_mtime_ns, status.st_size, status.st_ino)
    return numbers


def read_blocks(path: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the content of a file in blocks of about `size` bytes. Each block has whole lines.

    Only the last block may end without a newline. Lines that are appended after this function
    opened the file are not included.
    """
    fd = open_file(path)
    try:
        at, end, pending = 0, os.fstat(fd).st_size, list[bytes]()
        while data := read_range(fd, at, min(at + size, end)):
            at += len(data)
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((*pending, data[:cut]))
                pending.clear()
            pending.append(data[cut:])
        if rest := b"".join(pending):
            yield rest
    finally:
        os.close(fd)


def read_tail(path: str, most: int) -> bytes:
    """Return the last `most` bytes of a file, or the whole file if it is shorter."""
    fd = open_file(path)
    try:
        size = os.fstat(fd).st_size
        return read_range(fd, max(size - most, 0), size)
    finally:
        os.close(fd)


def read_last_lines(path: str, count: int) -> tuple[bytes, bool]:
    """Return the last `count` lines of a file, and whether they are the whole file.

    A last line without a newline counts as a line.
    """
    fd = open_file(path)
    try:
        end = os.fstat(fd).st_size
        size = CHUNK
        while True:
            start = max(end - size, 0)
            data = read_range(fd, start, end)
            cut = _start_of_last(data, count)
            if cut >= 0:
                return data[cut:], start + cut == 0
            if start == 0:
                return data, True
            size *= 4
    finally:
        os.close(fd)


def _start_of_last(data: bytes, count: int) -> int:
    """Return the offset in `data` at which its last `count` lines start.

    Return -1 if `data` does not include the newline just before these lines, because their start
    may then be missing.
    """
    if count <= 0:
        return len(data)
    cut = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(count):
        cut = data.rfind(b"\n", 0, cut)
        if cut < 0:
            return -1
    return cut + 1


def read_range(fd: int, start: int, end: int) -> bytes:
    """Return the bytes of an open file from offset `start` up to, but not including, `end`.

    The result is shorter if the file ends earlier.
    """
    data = os.pread(fd, end - start, start)
    while len(data) < end - start:
        more = os.pread(fd, end - start - len(data), start + len(data))
        if not more:
            break
        data += more
    return data


def first_line_end(fd: int) -> int:
    """Return the offset of the second line of an open log, where the messages begin.

    The first line has the title and other fields of the session. If there is no second line, the
    result is the size of the file.
    """
    step = 1 << 12
    while True:
        data = os.pread(fd, step, 0)
        cut = data.find(b"\n") + 1
        if cut or len(data) < step:
            return cut or len(data)
        step *= 16
