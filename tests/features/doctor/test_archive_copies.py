"""The compressed copies of the archive, damaged in ways that a disk and a crash have."""

import gzip
import os
from pathlib import Path

import pytest

from cortext import paths
from cortext.durability.gzip_members import pack, read_packed
from cortext.features.doctor.check_archive import ArchiveCopy, check_copy, list_copies

LINES = [b'{"n":%d,"text":"%s"}\n' % (n, b"word " * 40) for n in range(30)]


@pytest.fixture
def copy() -> ArchiveCopy:
    """A copy in three parts, whose transcript is gone."""
    path = Path(paths.archive(), "claude/projects/-x/11111111-2222-4333-8444-555555555555.jsonl.gz")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(pack(b"".join(LINES[n : n + 10])) for n in (0, 10, 20)))
    return ArchiveCopy("claude", str(path))


def held(path: str) -> list[bytes]:
    return b"".join(read_packed(path)).splitlines(keepends=True)


def mended(copy: ArchiveCopy) -> list[bytes]:
    """The lines after it was mended; the original is kept, and nothing is wrong any more."""
    before = Path(copy.path).read_bytes()
    found = check_copy(copy)
    assert found.mend is not None
    done = found.mend.do()
    assert done is not None
    assert [Path(path).read_bytes() for path in done.kept] == [before]
    assert check_copy(copy).problems == ()
    assert found.mend.do() is None
    assert list(list_copies()) == [copy]
    return held(copy.path)


def test_check_reports_no_problem_in_intact_copy(copy: ArchiveCopy) -> None:
    assert check_copy(copy).problems == ()
    assert held(copy.path) == LINES


def test_repair_of_truncated_copy_keeps_every_complete_line(copy: ArchiveCopy) -> None:
    """Also those of the part that was cut."""
    os.truncate(copy.path, os.path.getsize(copy.path) - 12)
    assert "is truncated" in check_copy(copy).problems[0].text
    lines = mended(copy)
    assert lines == LINES[: len(lines)]
    assert len(lines) >= 20


def test_repair_keeps_lines_around_damaged_gzip_member(copy: ArchiveCopy) -> None:
    data = bytearray(Path(copy.path).read_bytes())
    first = len(pack(b"".join(LINES[:10])))
    data[first + 60 : first + 90] = b"\0" * 30
    Path(copy.path).write_bytes(data)
    lines = mended(copy)
    assert lines[:10] == LINES[:10]
    assert lines[-10:] == LINES[-10:]
    assert set(lines) <= set(LINES)


def test_repair_keeps_modification_time_of_copy(copy: ArchiveCopy) -> None:
    """It is the transcript's."""
    os.truncate(copy.path, os.path.getsize(copy.path) - 12)
    os.utime(copy.path, (1.7e9, 1.7e9))
    mended(copy)
    assert os.stat(copy.path).st_mtime == 1.7e9


def test_check_reports_unreadable_copy_and_leaves_file(copy: ArchiveCopy) -> None:
    """Where the tool has it no more, there is nothing to put in its place."""
    Path(copy.path).write_bytes(b"\0" * 500)
    found = check_copy(copy)
    assert found.problems
    assert found.mend is None
    assert Path(copy.path).read_bytes() == b"\0" * 500


def test_check_reports_truncated_copy_compressed_by_other_program(copy: ArchiveCopy) -> None:
    whole = gzip.compress(b"".join(LINES))
    Path(copy.path).write_bytes(whole)
    assert check_copy(copy).problems == ()
    Path(copy.path).write_bytes(whole[:-20])
    assert check_copy(copy).problems
