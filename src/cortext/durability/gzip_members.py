"""Gzip files that can grow. A gzip file is a sequence of members, which are compressed blocks.

We write the length of each member into the extra field of its header. This makes it possible to
find all members without decompressing the file. `zcat` can read our files, and this module can read
the gzip files of other programs.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortext.durability.read_files import open_file, read_range

SUFFIX = ".gz"
MOST = 1 << 20
"""The largest number of uncompressed bytes in one member."""
_MAGIC = b"\x1f\x8b\x08"
# The start of our gzip header: the flag FEXTRA, no time, no system. Then an extra field of 12 bytes
# begins: the name `CX`, the number 8, and two lengths of 4 bytes (which are not part of _BEGIN).
_BEGIN = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0CX\x08\0"
_HEAD = struct.Struct(f"<{len(_BEGIN)}sII")
_END = struct.Struct("<II")
_LEVEL = 6
_LARGEST = 1 << 28
"""The maximum uncompressed size of a member, as a protection against zip bombs."""
_MOST_CACHED = 4


class Member(NamedTuple):
    """The position of one compressed block of a gzip file.

    `at` and `packed` are its offset and length in the compressed file. `start` and `size` are its
    offset and length in the uncompressed data.
    """

    at: int
    packed: int
    start: int
    size: int


class BrokenMemberError(ValueError):
    """A member of a gzip file is damaged. `data` holds the bytes that could be decompressed."""

    def __init__(self, member: Member, data: bytes) -> None:
        self.member = member
        self.data = data
        super().__init__(
            f"the compressed copy is damaged at byte {member.at}: "
            f"{len(data)} of {member.size} bytes can be read"
        )


def pack(data: bytes | memoryview) -> bytes:
    """Compress data, and return it as one gzip member that can be appended to a gzip file."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    end = _END.pack(zlib.crc32(data), len(data))
    return _HEAD.pack(_BEGIN, _HEAD.size + len(body) + len(end), len(data)) + body + end


def is_packed(fd: int) -> bool:
    """Return whether an open file is a gzip file."""
    return os.pread(fd, len(_MAGIC), 0) == _MAGIC


class Packed:
    """An open gzip file from which any part of the uncompressed data can be read.

    - `members`: the positions of the members (compressed blocks)
    - `size`: the length of the uncompressed data
    - `gaps`: a text about each damaged part of the file
    - `end`: the offset after the last complete member
    - `rest`: the number of bytes after `end`, from a write that failed or is still in progress
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._cache: dict[int, bytes] = {}
        self.members: list[Member] = []
        self.gaps: list[str] = []
        self.end: int = 0
        self.size: int = 0
        self.rest: int = 0
        self._find_members(os.fstat(fd).st_size)

    def _find_members(self, length: int) -> None:
        while self.end < length:
            packed, size = self._lengths_in_header() or self._measure_foreign_member(length)
            if not packed or self.end + packed > length:
                next_member = _find_member(self._fd, self.end + 1, length)
                if next_member is None:
                    break
                self.gaps.append(f"{next_member - self.end} bytes at byte {self.end} are damaged")
                self.end = next_member
                continue
            self.members.append(Member(self.end, packed, self.size, size))
            self.end, self.size = self.end + packed, self.size + size
        self.rest = length - self.end

    def _lengths_in_header(self) -> tuple[int, int] | None:
        """Return the compressed and uncompressed length of the member at the offset `self.end`.

        The lengths are read from the member's header. Return None if another program wrote the
        member, because its header has no lengths.
        """
        head = os.pread(self._fd, _HEAD.size, self.end)
        if len(head) < _HEAD.size:
            return None
        begin, packed, size = _HEAD.unpack(head)
        return (packed, size) if begin == _BEGIN and packed > _HEAD.size + _END.size else None

    def _measure_foreign_member(self, length: int) -> tuple[int, int]:
        """Return the compressed and uncompressed length of the member at the offset `self.end`.

        Another program wrote the member, so it must be decompressed to find the lengths. Both are 0
        if the member is not complete. `length` is the length of the file.
        """
        end, size = self.end, 0
        for data, offset in _inflate(self._fd, self.end, length):
            end, size = offset, size + len(data)
        return (end - self.end, size) if end > self.end else (0, 0)

    def read(self, start: int, end: int, report: Callable[[str], None] | None = None) -> bytes:
        """Return bytes `start` to `end` of the uncompressed data.

        If a member in this range is damaged and `report` is None, BrokenMemberError is raised. If
        `report` is a function, it is called with a sentence about the damage, and a newline
        replaces the missing bytes.
        """
        parts: list[bytes] = []
        for member in self._members_between(start, end):
            try:
                data = self.member(member)
            except BrokenMemberError as error:
                if not report:
                    raise
                report(str(error))
                data = error.data[: member.size - 1] + b"\n"
            parts.append(data[max(start - member.start, 0) : end - member.start])
        return b"".join(parts)

    def _members_between(self, start: int, end: int) -> list[Member]:
        from bisect import bisect_left, bisect_right

        first = bisect_right(self.members, start, key=lambda member: member.start) - 1
        last = bisect_left(self.members, end, key=lambda member: member.start)
        return self.members[max(first, 0) : last]

    def member(self, member: Member) -> bytes:
        """Return the uncompressed data of a member.

        Raises BrokenMemberError if the member is damaged.
        """
        if (known := self._cache.get(member.at)) is not None:
            return known
        if member.size > _LARGEST:
            raise BrokenMemberError(member, b"")
        data = self.raw(member)
        try:
            # Decompress no more than the size in the header, as a protection against zip bombs.
            inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
            unpacked = inflater.decompress(data, member.size + 1)
        except zlib.error:
            raise BrokenMemberError(member, _salvage(data, member.size)) from None
        if len(unpacked) != member.size or not inflater.eof:
            raise BrokenMemberError(member, unpacked[: member.size])
        while len(self._cache) >= _MOST_CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[member.at] = unpacked
        return unpacked

    def raw(self, member: Member) -> bytes:
        """Return the compressed bytes of a member."""
        return read_range(self._fd, member.at, member.at + member.packed)


def read_packed(path: str, report: Callable[[str], None] | None = None) -> Iterator[bytes]:
    """Yield the uncompressed data of a gzip file, from its beginning.

    Damaged parts do not stop the reading. A newline follows the readable part of a damaged member.
    The function `report`, if given, is called with a sentence about each damaged part.
    """
    fd = open_file(path)
    try:
        packed = Packed(fd)
        for member in packed.members:
            if member.size > 8 * MOST:  # written by another program
                yield from (data for data, _ in _inflate(fd, member.at, member.at + member.packed))
                continue
            try:
                yield packed.member(member)
            except BrokenMemberError as error:
                yield error.data + b"\n"
                if report:
                    report(str(error))
    finally:
        os.close(fd)
    if report:
        for gap in packed.gaps:
            report(f"in the compressed copy, {gap}")
        if packed.rest:
            report(f"the last {packed.rest} bytes of the compressed copy are incomplete")


def _inflate(fd: int, at: int, length: int) -> Iterator[tuple[bytes, int]]:
    """Decompress the gzip member at offset `at`, and yield pairs of a data block and an offset.

    The last pair of a complete member has the offset of the member's end in the file. All other
    pairs have the offset `at`. So if the last pair has the offset `at`, the member is damaged or
    incomplete. `length` is the length of the file.
    """
    inflater, offset = zlib.decompressobj(zlib.MAX_WBITS | 16), at
    while offset < length and not inflater.eof:
        block = os.pread(fd, min(MOST, length - offset), offset)
        if not block:
            break
        offset += len(block)
        try:
            while block and not inflater.eof:
                data = inflater.decompress(block, MOST)
                block = inflater.unconsumed_tail
                yield data, offset - len(inflater.unused_data) if inflater.eof else at
        except zlib.error:
            return


def _salvage(data: bytes, most: int) -> bytes:
    """Return the data that can be decompressed from a damaged gzip member (a compressed block).

    `data` holds the compressed bytes of the member. `most` is the maximum length of the result in
    bytes.
    """
    inflater, salvaged = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    for offset in range(0, len(data), 256):
        block, before = data[offset : offset + 256], inflater.copy()
        try:
            salvaged += inflater.decompress(block, max(most - len(salvaged), 1))
        except zlib.error:
            salvaged += b"".join(_decompress_bytewise(before.decompress, block))
            break
        if len(salvaged) >= most:
            break
    return salvaged[:most]


def _decompress_bytewise(decompress: Callable[[bytes], bytes], block: bytes) -> Iterator[bytes]:
    """Decompress a damaged block byte by byte, and yield the data before the damage.

    If `decompress` reaches the damage, it fails and returns no data at all. With more than one byte
    for each call, the data just before the damage would be lost.
    """
    for offset in range(len(block)):
        try:
            yield decompress(block[offset : offset + 1])
        except zlib.error:
            return


def _find_member(fd: int, at: int, length: int) -> int | None:
    """Return the offset of a member that cortext wrote: the first such member from offset `at`.

    Return None if there is no such member. `length` is the length of the file.
    """
    while at < length:
        block = os.pread(fd, MOST, at)
        found = block.find(_BEGIN)
        if found >= 0:
            return at + found
        if len(block) < MOST:
            break
        at += len(block) - len(_BEGIN)
    return None
