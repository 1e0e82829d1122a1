"""Functions that read regular files, without locks."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator


def open_file(path: str) -> int:
    """Open a regular file for reading, and return its file descriptor.

    OSError if the path is a folder, a pipe or a device.
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
    """Return all bytes of a file; OSError if the file is larger than `most` bytes."""
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
        found = os.fstat(fd)
        return read_range(fd, 0, found.st_size), found
    finally:
        os.close(fd)


def read_first_line(path: str, most: int) -> bytes:
    """Return the first line of a file without its newline, cut after `most` bytes."""
    fd = open_file(path)
    try:
        return os.pread(fd, most, 0).partition(b"\n")[0]
    finally:
        os.close(fd)


def stat_all(fd: int, names: Iterable[str]) -> list[int]:
    """Return the modification time, the size and the inode of each file, in one flat list.

    The times are in nanoseconds. The names are relative to the open folder `fd`. A missing file or
    a broken link gives -1 three times.
    """
    found: list[int] = []
    stat = os.stat
    # A plain loop, because listing many conversations spends most of its time in this function.
    for name in names:
        try:
            now = stat(name, dir_fd=fd)
        except OSError:
            found += (-1, -1, -1)
        else:
            found += (now.st_mtime_ns, now.st_size, now.st_ino)
    return found


def read_blocks(path: str, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield a file in blocks of about `size` bytes, each of which consists of whole lines.

    Only the last block may end without a newline. Lines that are appended in the meantime are not
    included.
    """
    fd = open_file(path)
    try:
        at, end, kept = 0, os.fstat(fd).st_size, list[bytes]()
        while data := read_range(fd, at, min(at + size, end)):
            at += len(data)
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((*kept, data[:cut]))
                kept.clear()
            kept.append(data[cut:])
        if rest := b"".join(kept):
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


def read_range(fd: int, start: int, end: int) -> bytes:
    """Return bytes `start` to `end` of an open file, or fewer if the file ends earlier."""
    data = os.pread(fd, end - start, start)
    while len(data) < end - start:
        more = os.pread(fd, end - start - len(data), start + len(data))
        if not more:
            break
        data += more
    return data
