"""Reading: the end of a file without the rest, and only regular files."""

import os
from pathlib import Path

import pytest

from cortext.durability import read_files


def lines_file(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "lines"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("data", "count", "expected"),
    [
        (b"", 3, (b"", True)),
        (b"a\n", 0, (b"", False)),
        (b"a\n", 1, (b"a\n", True)),
        (b"a\nb\n", 1, (b"b\n", False)),
        (b"a\nb", 1, (b"b", False)),
        (b"a\nb\nc\n", 2, (b"b\nc\n", False)),
        (b"a\nb\nc\n", 3, (b"a\nb\nc\n", True)),
        (b"a\nb\nc\n", 9, (b"a\nb\nc\n", True)),
        (b"\n\n", 1, (b"\n", False)),
        (b"a", 1, (b"a", True)),
    ],
)
def test_read_last_lines_returns_lines_and_whether_complete(
    tmp_path: Path, data: bytes, count: int, expected: tuple[bytes, bool]
) -> None:
    """The last lines, and whether they are all."""
    assert read_files.read_last_lines(lines_file(tmp_path, data), count) == expected


@pytest.mark.parametrize("size", [read_files.CHUNK + step for step in (-2, -1, 0, 1, 2)])
def test_read_last_lines_works_across_chunk_borders(tmp_path: Path, size: int) -> None:
    """Wherever the border of a read falls."""
    data = b"first\n" + b"x" * (size - 7) + b"\n" + b"last\n"
    path = lines_file(tmp_path, data)
    for count in (1, 2, 3):
        cut = [b"last\n", b"x" * (size - 7) + b"\nlast\n", data][count - 1]
        assert read_files.read_last_lines(path, count) == (cut, count == 3)


def test_read_last_lines_reads_only_end_of_huge_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a 100 GB file costs one chunk; a long line costs about its size."""
    counted: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, offset: int) -> bytes:
        data = real(fd, size, offset)
        counted.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(100 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"short line\n" * 20)
    assert read_files.read_last_lines(str(path), 20) == (b"short line\n" * 20, False)
    assert sum(counted) <= read_files.CHUNK
    counted.clear()
    with path.open("ab") as file:
        file.write(b"x" * (1 << 20) + b"\n")
    assert len(read_files.read_last_lines(str(path), 1)[0]) == (1 << 20) + 1
    assert sum(counted) <= 6 << 20


def test_read_file_rejects_folders_and_pipes(tmp_path: Path) -> None:
    """A folder, a pipe and a socket are errors at once, and nothing stays open."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for name in ("fifo", "folder"):
        with pytest.raises(IsADirectoryError):
            read_files.read_file(str(tmp_path / name))
    with pytest.raises(FileNotFoundError):
        read_files.read_file(str(tmp_path / "missing"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_read_file_continues_after_short_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may give fewer bytes than it was asked for."""
    path = lines_file(tmp_path, b"0123456789")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: real(fd, min(size, 3), at))
    assert read_files.read_file(path) == b"0123456789"
