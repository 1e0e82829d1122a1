"""Gzip files that can grow. A gzip file is a sequence of members, which are compressed blocks.

We write the length of each member into its header, in the extra field. So the members are found
without decompressing the file. `zcat` reads these files, and we read gzip files of other programs.
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
# The flag FEXTRA, no time, no system; then an extra field of 12 bytes: `CX`, 8, and two lengths.
_BEGIN = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0CX\x08\0"
_HEAD = struct.Struct(f"<{len(_BEGIN)}sII")
_END = struct.Struct("<II")
_LEVEL = 6
_LARGEST = 1 << 28
"""The largest uncompressed size of a member that we accept, as a protection against zip bombs."""
_CACHED = 4


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
            f"the compressed copy is damaged at byte {member.at}: of {member.size} bytes "
            f"{len(data)} can be read"
        )


def pack(data: bytes | memoryview) -> bytes:
    """Compress data to one gzip member, to append it to a file."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    end = _END.pack(zlib.crc32(data), len(data))
    return _HEAD.pack(_BEGIN, _HEAD.size + len(body) + len(end), len(data)) + body + end


def is_packed(fd: int) -> bool:
    """Return whether an open file is a gzip file."""
    return os.pread(fd, len(_MAGIC), 0) == _MAGIC


class Packed:
    """An open gzip file with random access to its uncompressed data, which has `size` bytes.

    `gaps` describes damaged parts. `end` is the offset after the last complete member. `rest` is
    the number of bytes after `end`, from a write that failed or is still in progress.
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
        """Return the compressed and uncompressed length from the header at offset `end`.

        None if our program did not write the member at this offset.
        """
        head = os.pread(self._fd, _HEAD.size, self.end)
        if len(head) < _HEAD.size:
            return None
        begin, packed, size = _HEAD.unpack(head)
        return (packed, size) if begin == _BEGIN and packed > _HEAD.size + _END.size else None

    def _foreign(self, length: int) -> tuple[int, int]:
        """Return the compressed and uncompressed length of another program's member at `end`.

        The member is decompressed to find its lengths. Both are 0 if the member is not complete.
        """
        after, size = self.end, 0
        for data, place in _inflate(self._fd, self.end, length):
            after, size = place, size + len(data)
        return (after - self.end, size) if after > self.end else (0, 0)

    def read(self, start: int, end: int, name: Callable[[str], None] | None = None) -> bytes:
        """Return bytes `start` to `end` of the uncompressed data.

        BrokenMemberError if a member in this range is damaged. If the function `name` is given, it
        is called with a sentence about the damage instead, and a newline replaces missing bytes.
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
        """Decompress a member and verify its checksum; BrokenMemberError if it is damaged."""
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
        while len(self._cache) >= _CACHED:
            del self._cache[next(iter(self._cache))]
        self._cache[member.at] = unpacked
        return unpacked

    def raw(self, member: Member) -> bytes:
        """Return a member as it is in the file, still compressed."""
        return read_range(self._fd, member.at, member.at + member.packed)


def read_packed(path: str, name: Callable[[str], None] | None = None) -> Iterator[bytes]:
    """Yield the uncompressed data of a gzip file, from its beginning.

    Reading continues after damage. A newline follows the readable part of a damaged member. The
    function `name`, if given, is called with a sentence about each damaged part.
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
    """Decompress the gzip member at offset `at`, and yield its data in blocks.

    The number beside the last block is the offset after the member. The number beside all other
    blocks is `at`. `length` is the length of the file.
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
    """Return the bytes that can be decompressed from a damaged member, but at most `most`."""
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
    """Decompress a damaged block byte by byte, and yield the data before the damage.

    A call of `decompress` that fails returns nothing, so larger steps would lose data.
    """
    for place in range(len(block)):
        try:
            yield decompress(block[place : place + 1])
        except zlib.error:
            return


def _find(fd: int, at: int, length: int) -> int | None:
    """Return the offset of the first member in our format at or after `at`, or None."""
    while at < length:
        block = os.pread(fd, MOST, at)
        found = block.find(_BEGIN)
        if found >= 0:
            return at + found
        if len(block) < MOST:
            break
        at += len(block) - len(_BEGIN)
    return None
