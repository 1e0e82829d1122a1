"""Reading: no locks, nothing written, and only regular files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator


def open_file(path: str) -> int:
    """A descriptor for reading; a folder, pipe or device in the place of a file is an OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EISDIR, "not a regular file", path)
    return fd


def read_file(path: str) -> bytes:
    """All bytes of a file."""
    return read_file_and_stat(path)[0]


def read_small_file(path: str, most: int) -> bytes:
    """Return all bytes of a file; OSError if there are more than `most`."""
    fd = open_file(path)
    try:
        size = os.fstat(fd).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", path)
        return read_range(fd, 0, size)
    finally:
        os.close(fd)


def read_file_and_stat(path: str) -> tuple[bytes, os.stat_result]:
    """All bytes of a file, and what the file that they came from looked like."""
    fd = open_file(path)
    try:
        found = os.fstat(fd)
        return read_range(fd, 0, found.st_size), found
    finally:
        os.close(fd)


def read_first_line(path: str, most: int) -> bytes:
    """The first line of a file without its newline, or as much of it as is asked for."""
    fd = open_file(path)
    try:
        return os.pread(fd, most, 0).partition(b"\n")[0]
    finally:
        os.close(fd)


def stat_all(fd: int, names: Iterable[str]) -> list[int]:
    """The time in nanoseconds, the size and the inode of each file of a folder that is open as
    `fd`, one after the other; -1 three times for what is not there, or leads nowhere."""
    found: list[int] = []
    stat = os.stat
    # A plain loop: with many files this is what a list takes its time for.
    for name in names:
        try:
            now = stat(name, dir_fd=fd)
        except OSError:
            found += (-1, -1, -1)
        else:
            found += (now.st_mtime_ns, now.st_size, now.st_ino)
    return found


def read_blocks(path: str, size: int = 1 << 20) -> Iterator[bytes]:
    """A file as it is now, in blocks of whole lines; only the last may end without a newline."""
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
    """The last bytes of a file."""
    fd = open_file(path)
    try:
        size = os.fstat(fd).st_size
        return read_range(fd, max(size - most, 0), size)
    finally:
        os.close(fd)


def read_range(fd: int, start: int, end: int) -> bytes:
    """Bytes `start` to `end` of an open file, fewer if it ends before."""
    data = os.pread(fd, end - start, start)
    while len(data) < end - start:
        more = os.pread(fd, end - start - len(data), start + len(data))
        if not more:
            break
        data += more
    return data
