"""Read the last lines of a file without reading the rest."""

from __future__ import annotations

import os

from cortext.durability.read_files import open_file, read_range

CHUNK = 32 * 1024


def read_last_lines(path: str, count: int) -> tuple[bytes, bool]:
    """Return the last `count` lines of a file, and whether they are the whole file.

    A last line without a newline counts as a line. The file is read from its end, in growing
    chunks, until the lines are complete.
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

    Return -1 if the first of these lines may start before `data`.
    """
    if count <= 0:
        return len(data)
    cut = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(count):
        cut = data.rfind(b"\n", 0, cut)
        if cut < 0:
            return -1
    return cut + 1
