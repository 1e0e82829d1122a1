"""Compressed files that grow: any part of them is found, and damage hides one member."""

import gzip
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest

from cortext.durability.gzip_members import MOST, BrokenMemberError, Packed, pack, read_packed


def text(size: int, seed: int = 0) -> bytes:
    words = random.Random(seed)
    line = b'{"n":%d,"text":"%d words"}\n'
    data = b"".join(line % (n, words.randrange(10**9)) for n in range(size // 30 + 1))
    return data[:size]


def opened(path: Path) -> tuple[int, Packed]:
    fd = os.open(path, os.O_RDONLY)
    return fd, Packed(fd)


def test_zcat_reads_packed_members_as_one_text(tmp_path: Path) -> None:
    """Several members are one text for every program that knows gzip."""
    parts = [text(100), text(MOST), b"", text(7, 3)]
    (tmp_path / "a.gz").write_bytes(b"".join(map(pack, parts)))
    found = subprocess.run(["zcat", tmp_path / "a.gz"], capture_output=True, check=True)
    assert found.stdout == b"".join(parts)
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"".join(parts)


@pytest.mark.parametrize("foreign", [False, True])
def test_read_returns_any_byte_range_of_packed_file(tmp_path: Path, foreign: bool) -> None:
    """Also of a file that another program packed, or packed and we went on with."""
    parts = [text(5000, n) for n in range(20)]
    first = gzip.compress(b"".join(parts[:10])) if foreign else b"".join(map(pack, parts[:10]))
    (tmp_path / "a.gz").write_bytes(first + b"".join(map(pack, parts[10:])))
    whole = b"".join(parts)
    fd, packed = opened(tmp_path / "a.gz")
    try:
        assert (packed.size, packed.rest, packed.gaps) == (len(whole), 0, [])
        some = random.Random(1)
        for _ in range(100):
            start = some.randrange(len(whole))
            end = some.randrange(start, len(whole) + 100)
            assert packed.read(start, end) == whole[start:end]
    finally:
        os.close(fd)


def test_read_of_last_bytes_unpacks_only_last_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers and the last member are read, whatever the length."""
    parts = [random.Random(n).randbytes(MOST) for n in range(8)]
    (tmp_path / "a.gz").write_bytes(b"".join(map(pack, parts)))
    taken: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        data = real(fd, size, at)
        taken.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    fd, packed = opened(tmp_path / "a.gz")
    assert packed.read(packed.size - 100, packed.size) == parts[-1][-100:]
    os.close(fd)
    assert sum(taken) < 1.1 * MOST


def test_truncated_file_keeps_all_members_before_cut(tmp_path: Path) -> None:
    """A member that was not written to its end is told and hides none of the others."""
    parts = [text(300, n) for n in range(3)]
    packed = list(map(pack, parts))
    whole = b"".join(packed)
    path = tmp_path / "a.gz"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        there = sum(length >= sum(map(len, packed[: n + 1])) for n in range(3))
        said: list[str] = []
        assert b"".join(read_packed(str(path), said.append)) == b"".join(parts[:there])
        assert len(said) == (length != sum(map(len, packed[:there])))


@pytest.mark.parametrize("at", [0, 3, 13, 17, 21, 30, 60, -1])
def test_damaged_member_hides_no_other_member(tmp_path: Path, at: int) -> None:
    """Wherever the bytes are wrong: in the header, the lengths, the text or the check sum."""
    parts = [text(3000, n) for n in range(4)]
    packed = [bytearray(pack(part)) for part in parts]
    packed[1][at] ^= 0xFF
    path = tmp_path / "a.gz"
    path.write_bytes(b"".join(packed))
    said: list[str] = []
    found = b"".join(read_packed(str(path), said.append))
    assert said != [] or found == b"".join(parts)
    assert found.startswith(parts[0])
    assert parts[2] in found
    assert found.endswith(parts[3])


def test_text_before_damage_in_member_is_read(tmp_path: Path) -> None:
    """Also of a member of a few lines."""
    part = text(500)
    member = bytearray(pack(part))
    middle = len(member) // 2
    member[middle:] = b"\xff" * len(member[middle:])
    (tmp_path / "a.gz").write_bytes(member)
    found = b"".join(read_packed(str(tmp_path / "a.gz"), lambda _: None))
    assert found.startswith(part[:60])


def test_read_of_damaged_member_raises_broken_member_error(tmp_path: Path) -> None:
    """Whoever asks for bytes gets the right ones or none."""
    member = bytearray(pack(text(3000)))
    member[100] ^= 0xFF
    (tmp_path / "a.gz").write_bytes(pack(text(10)) + member)
    fd, packed = opened(tmp_path / "a.gz")
    try:
        assert packed.read(0, 10) == text(10)
        with pytest.raises(BrokenMemberError, match="damaged"):
            packed.read(5, 20)
    finally:
        os.close(fd)


def test_golden_gzip_file_is_read_without_damage() -> None:
    """What a release wrote, every later one reads: members of ours and of gzip."""
    path = Path(__file__).parent / "golden/lines.jsonl.gz"
    said: list[str] = []
    found = b"".join(read_packed(str(path), said.append))
    assert (found, said) == ('{"n":1}\n{"n":2}\n{"n":3}\n{"n":4,"text":"é"}\n'.encode(), [])


def test_member_larger_than_its_header_says_is_not_unpacked_further(tmp_path: Path) -> None:
    """It is named as damaged, and no more of it is unpacked than it says."""
    path = tmp_path / "bomb.gz"
    honest = pack(b"a line\n")
    whole = bytearray(pack(b"\0" * 50_000_000))
    struct.pack_into("<I", whole, 20, 1000)  # where the header says how much it holds
    path.write_bytes(honest + whole)
    fd, packed = opened(path)
    named: list[str] = []
    data = packed.read(0, packed.size, named.append)
    os.close(fd)
    assert (len(data), len(named)) == (7 + 1000, 1)
