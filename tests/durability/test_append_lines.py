"""Appending lines beside others who append."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.durability.append_lines import FIRST_LINES, FIRST_LOOK, Appender
from cortext.errors import SessionStorageError


def is_record(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def ids_in(data: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in data.split(b"\n") if line.startswith(b"{")]


def line(id: str, size: int = 0) -> tuple[str, bytes]:
    return id, json.dumps({"id": id, "x": "x" * size}).encode() + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "lines").write_bytes(b"")
    return tmp_path / "lines"


def appender(path: Path) -> Appender:
    lock = str(path.with_name("lock"))
    return Appender(str(path), lock, is_record=is_record, ids_in=ids_in, wait=1)


def test_append_writes_equal_ids_once_and_counts_new_lines(path: Path) -> None:
    """Equal ids are written once, in one call and over calls."""
    mine = appender(path)
    assert mine.append([line("a"), line("b"), line("a")]) == 2
    assert mine.append([line("b"), line("c")]) == 1
    assert mine.append([line("c")]) == 0
    assert ids_in(path.read_bytes()) == ["a", "b", "c"]


def test_append_skips_lines_that_other_appender_wrote(path: Path) -> None:
    """Whatever its size: everything since the last look is looked at."""
    ours, theirs = appender(path), appender(path)
    ours.append([line("a")])
    theirs.append([line(f"b{n}", 5000) for n in range(40)])
    assert path.stat().st_size > 2 * FIRST_LOOK
    assert ours.append([line("b0"), line("c")]) == 1


def test_first_append_reads_only_end_of_large_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new appender reads the end of a large file, not all of it."""
    appender(path).append([line(f"a{n}", 1000) for n in range(2000)])
    counted: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, offset: int) -> bytes:
        data = real(fd, size, offset)
        counted.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    fresh = appender(path)
    assert fresh.append([line("a1999"), line("new")]) == 1
    assert sum(counted) <= 4 * FIRST_LOOK + 2
    counted.clear()
    fresh.append([line("newer")])
    assert sum(counted) <= 2


@pytest.mark.parametrize("size", [3 * FIRST_LOOK, FIRST_LOOK // 8])
def test_first_append_recognises_last_hundred_lines(path: Path, size: int) -> None:
    """However long they are: a retry after a restart writes nothing twice."""
    lines = [line(f"a{n}", size) for n in range(FIRST_LINES + 5)]
    appender(path).append(lines)
    assert appender(path).append([lines[-1]]) == 0
    assert appender(path).append([lines[-FIRST_LINES]]) == 0
    assert path.stat().st_size == sum(len(data) for _, data in lines)


REPLACE = """
import os, sys
path = sys.argv[1]
with open(path, "rb") as file:
    data = file.read()
with open(path + ".new", "wb") as file:
    file.write(b'{"id":"head"}\\n' + data)
os.rename(path + ".new", path)
"""


def test_append_writes_to_replacement_file(path: Path) -> None:
    """After another process replaced the file, lines land in the new one."""
    mine = appender(path)
    mine.append([line("a")])
    inode = path.stat().st_ino
    subprocess.run([sys.executable, "-c", REPLACE, str(path)], check=True, timeout=60)
    assert path.stat().st_ino != inode
    assert mine.append([line("a"), line("b")]) == 1
    assert ids_in(path.read_bytes()) == ["head", "a", "b"]


def test_append_to_deleted_file_fails_without_creating_file(path: Path) -> None:
    """It is not made again; when another makes it anew, nothing is remembered."""
    mine = appender(path)
    mine.append([line("a")])
    path.unlink()
    with pytest.raises(FileNotFoundError):
        mine.append([line("b")])
    assert not path.exists()
    path.write_bytes(b"")
    assert mine.append([line("a")]) == 1


def test_append_continues_after_file_is_truncated(path: Path) -> None:
    """A file that became shorter is looked at anew."""
    mine = appender(path)
    mine.append([line("a"), line("b")])
    os.truncate(path, len(line("a")[1]))
    mine.append([line("c")])
    assert ids_in(path.read_bytes()) == ["a", "c"]


def test_append_continues_after_short_writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take fewer bytes than it was given."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data[:3])))
    appender(path).append([line("a"), line("b")])
    assert path.read_bytes() == line("a")[1] + line("b")[1]


def test_failed_write_is_cut_off_and_retry_stores_line_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line is cut off again, and a retry stores it once."""
    mine = appender(path)
    mine.append([line("a")])
    real = os.write
    calls: list[int] = []

    def write(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data[:5]))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(SessionStorageError) as caught:
        mine.append([line("b")])
    assert (caught.value.errno, path.read_bytes()) == (28, line("a")[1])
    monkeypatch.undo()
    assert mine.append([line("b")]) == 1
    assert ids_in(path.read_bytes()) == ["a", "b"]


def test_failed_sync_removes_appended_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may not be on the disk is not left to look as if it were."""
    mine = appender(path)
    mine.append([line("a")])

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(SessionStorageError):
        mine.append([line("b")])
    monkeypatch.undo()
    assert ids_in(path.read_bytes()) == ["a"]
    assert mine.append([line("b")]) == 1


def test_failed_sync_keeps_lines_of_other_appender(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When others wrote after us, the file is written anew, and the error says "may be present"."""
    ours, theirs = appender(path), appender(path)
    ours.append([line("a")])
    real = os.fdatasync

    def fail(_: int) -> None:
        monkeypatch.setattr(os, "fdatasync", real)
        theirs.append([line("theirs")])
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(SessionStorageError, match="may or may not be stored") as caught:
        ours.append([line("ours")])
    assert caught.value.errno == 5
    assert ids_in(path.read_bytes()) == ["a", "ours", "theirs"]
    assert ours.append([line("ours")]) == theirs.append([line("theirs")]) == 0


def test_append_of_stored_line_syncs_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append that finds its lines stored acknowledges them, so it makes sure of them."""
    appender(path).append([line("a")])
    synced: list[int] = []
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(fd) or real(fd))
    assert appender(path).append([line("a")]) == 0
    assert len(synced) == 1


def test_append_refuses_symbolic_link_in_place_of_file(path: Path, tmp_path: Path) -> None:
    """O_NOFOLLOW: also when the file became a link while it was open."""
    mine = appender(path)
    mine.append([line("a")])
    os.rename(path, tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    with pytest.raises(SessionStorageError, match="symbolic link"):
        mine.append([line("b")])
    assert ids_in((tmp_path / "moved").read_bytes()) == ["a"]


def test_appender_remembers_limited_number_of_ids(path: Path) -> None:
    """Memory is bounded; the latest ids are still known."""
    mine = appender(path)
    for start in range(0, 20_000, 1000):
        mine.append([line(f"m{n}") for n in range(start, start + 1000)])
    assert mine.append([line("m19999"), line("m18000")]) == 0
    assert len(mine._ids) <= 8192


def test_close_releases_file_descriptors(path: Path) -> None:
    """No descriptor stays; the next append opens again."""
    before = len(os.listdir("/proc/self/fd"))
    mine = appender(path)
    mine.append([line("a")])
    mine.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert mine.append([line("a"), line("b")]) == 1
    mine.close()
