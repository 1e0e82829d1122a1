"""Compressed files that can grow: a sequence of gzip members, each with its length in its header.

`zcat` reads these files. The length is in the extra field of a member's header, so the end of a
file is found without decompressing the rest. Gzip files of other programs can be read as well.
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
# Flag FEXTRA; no time, no system. Extra field of 12 bytes: `CX`, its length 8, two lengths.
_BEGIN = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0CX\x08\0"
_HEAD = struct.Struct(f"<{len(_BEGIN)}sII")
_END = struct.Struct("<II")
_LEVEL = 6
_LARGEST = 1 << 28
"""The largest size of a member to decompress; a larger one was made to fill the memory."""
_CACHED = 4


class Member(NamedTuple):
    """The position of a member in the compressed file, and of its bytes in the uncompressed data.

    `at` and `packed` are the offset and length in the file. `start` and `size` are the offset and
    length in the uncompressed data.
    """

    at: int
    packed: int
    start: int
    size: int


class BrokenMemberError(ValueError):
    """A member that cannot be decompressed completely; `data` holds the bytes that could be."""

    def __init__(self, member: Member, data: bytes) -> None:
        self.member = member
        self.data = data
        super().__init__(
            f"the compressed copy is damaged at byte {member.at}: of {member.size} bytes "
            f"{len(data)} can be read"
        )


def pack(data: bytes | memoryview) -> bytes:
    """Return the data compressed as one member."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    end = _END.pack(zlib.crc32(data), len(data))
    return _HEAD.pack(_BEGIN, _HEAD.size + len(body) + len(end), len(data)) + body + end


def is_packed(fd: int) -> bool:
    """Return whether an open file is a gzip file."""
    return os.pread(fd, len(_MAGIC), 0) == _MAGIC


class Packed:
    """An open compressed file with random access to its uncompressed data of `size` bytes.

    `gaps` describes damaged parts. `end` is the offset after the last complete member. `rest` is
    the number of bytes after that: the start of a write that failed, or that is still in progress.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._cache: dict[int, bytes] = {}
        self.members: list[Member] = []
        self.gaps: list[str] = []
        self.end: int = 0
        self.size: int = 0
        self.rest: int = 0
        self._walk(os.fstat(fd).st_size)

    def _walk(self, length: int) -> None:
        while self.end < length:
            packed, size = self._lengths() or self._foreign(length)
            if not packed or self.end + packed > length:
                after = _find(self._fd, self.end + 1, length)
                if after is None:
                    break
                self.gaps.append(f"{after - self.end} bytes at byte {self.end} are damaged")
                self.end = after
                continue
            self.members.append(Member(self.end, packed, self.size, size))
            self.end, self.size = self.end + packed, self.size + size
        self.rest = length - self.end

    def _lengths(self) -> tuple[int, int] | None:
        """Return the lengths in the header at `end`; None if no header of our format is there."""
        head = os.pread(self._fd, _HEAD.size, self.end)
        if len(head) < _HEAD.size:
            return None
        begin, packed, size = _HEAD.unpack(head)
        return (packed, size) if begin == _BEGIN and packed > _HEAD.size + _END.size else None

    def _foreign(self, length: int) -> tuple[int, int]:
        """Return the lengths of a member of another program; zeros if it is not complete."""
        after, size = self.end, 0
        for data, place in _inflate(self._fd, self.end, length):
            after, size = place, size + len(data)
        return (after - self.end, size) if after > self.end else (0, 0)

    def read(self, start: int, end: int, name: Callable[[str], None] | None = None) -> bytes:
        """Return bytes `start` to `end` of the uncompressed data.

        Raises BrokenMemberError if a member in this range is damaged. With `name`, that function is
        called with a description of the damage instead, and a newline replaces the missing bytes.
        """
        found: list[bytes] = []
        for member in self._between(start, end):
            try:
                data = self.member(member)
            except BrokenMemberError as error:
                if not name:
                    raise
                name(str(error))
                data = error.data[: member.size - 1] + b"\n"
            found.append(data[max(start - member.start, 0) : end - member.start])
        return b"".join(found)

    def _between(self, start: int, end: int) -> list[Member]:
        from bisect import bisect_left, bisect_right

        first = bisect_right(self.members, start, key=lambda member: member.start) - 1
        last = bisect_left(self.members, end, key=lambda member: member.start)
        return self.members[max(first, 0) : last]

    def member(self, member: Member) -> bytes:
        """Return the verified, uncompressed bytes of a member; BrokenMemberError if damaged."""
        if (known := self._cache.get(member.at)) is not None:
            return known
        if member.size > _LARGEST:
            raise BrokenMemberError(member, b"")
        data = self.raw(member)
        try:
            # Decompress no more than the stated size: the file may be made to fill the memory.
            inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
            unpacked = inflater.decompress(data, member.size + 1)
        except zlib.error:
            raise BrokenMemberError(member, _salvage(data, member.size)) from None
        if len(unpacked) != member.size or not inflater.eof:
            raise BrokenMemberError(member, unpacked[: member.size])
        while len(self._cache) >= _CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[member.at] = unpacked
        return unpacked

    def raw(self, member: Member) -> bytes:
        """Return the compressed bytes of a member, as they are in the file."""
        return read_range(self._fd, member.at, member.at + member.packed)


def read_packed(path: str, name: Callable[[str], None] | None = None) -> Iterator[bytes]:
    """Yield the uncompressed data of a file, from its beginning.

    Damage does not stop the reading. A newline follows the readable part of a damaged member, and
    `name`, if given, is called with a sentence about each damaged part.
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
                if name:
                    name(str(error))
    finally:
        os.close(fd)
    if name:
        for gap in packed.gaps:
            name(f"of the compressed copy {gap}")
        if packed.rest:
            name(f"{packed.rest} bytes at the end of the compressed copy were not written whole")


def _inflate(fd: int, at: int, length: int) -> Iterator[tuple[bytes, int]]:
    """Yield the data of one gzip member in blocks, each with the offset of the next member.

    Any program may have written the member. The offset is `at` until a block reaches the end of the
    member.
    """
    inflater, place = zlib.decompressobj(zlib.MAX_WBITS | 16), at
    while place < length and not inflater.eof:
        block = os.pread(fd, min(MOST, length - place), place)
        if not block:
            break
        place += len(block)
        try:
            while block and not inflater.eof:
                data = inflater.decompress(block, MOST)
                block = inflater.unconsumed_tail
                yield data, place - len(inflater.unused_data) if inflater.eof else at
        except zlib.error:
            return


def _salvage(data: bytes, most: int) -> bytes:
    """Return the bytes that can be decompressed from a broken member, at most `most`."""
    inflater, found = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    for place in range(0, len(data), 256):
        block, before = data[place : place + 256], inflater.copy()
        try:
            found += inflater.decompress(block, max(most - len(found), 1))
        except zlib.error:
            found += b"".join(_in_steps(before.decompress, block))
            break
        if len(found) >= most:
            break
    return found[:most]


def _in_steps(decompress: Callable[[bytes], bytes], block: bytes) -> Iterator[bytes]:
    """Decompress byte by byte, because a step that fails returns none of its data."""
    for place in range(len(block)):
        try:
            yield decompress(block[place : place + 1])
        except zlib.error:
            return


def _find(fd: int, at: int, length: int) -> int | None:
    """Return the offset of the next member in our format; None if there is none."""
    while at < length:
        block = os.pread(fd, MOST, at)
        found = block.find(_BEGIN)
        if found >= 0:
            return at + found
        if len(block) < MOST:
            break
        at += len(block) - len(_BEGIN)
    return None
