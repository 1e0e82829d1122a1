"""Compressed files that grow: gzip members one after the other, each of which says its length.

`zcat` reads them. A member's length stands in the extra field of its header, so that the end of
a file is found without unpacking the rest; a file that another program packed is read as well.
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
"""Bytes that one member holds at most, before they are packed."""
_MAGIC = b"\x1f\x8b\x08"
# FEXTRA; no time, no flags, no system; twelve bytes of extra: `CX`, eight bytes, two lengths.
_BEGIN = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0CX\x08\0"
_HEAD = struct.Struct(f"<{len(_BEGIN)}sII")
_END = struct.Struct("<II")
_LEVEL = 6
_LARGEST = 1 << 28
"""Ours are far smaller: one that is to hold more was made to fill the memory."""
_CACHED = 4


class Member(NamedTuple):
    """Where a member is in its file, and where its bytes are in what the file holds."""

    at: int
    packed: int
    start: int
    size: int


class BrokenMemberError(ValueError):
    """A member that cannot be unpacked whole; `data` is what can be had of it."""

    def __init__(self, member: Member, data: bytes) -> None:
        self.member = member
        self.data = data
        super().__init__(
            f"the compressed copy is damaged at byte {member.at}: of {member.size} bytes "
            f"{len(data)} can be read"
        )


def pack(data: bytes | memoryview) -> bytes:
    """One member."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    end = _END.pack(zlib.crc32(data), len(data))
    return _HEAD.pack(_BEGIN, _HEAD.size + len(body) + len(end), len(data)) + body + end


def is_packed(fd: int) -> bool:
    """Whether an open file is a compressed one."""
    return os.pread(fd, len(_MAGIC), 0) == _MAGIC


class Packed:
    """An open compressed file, of which any part can be had: `size` bytes.

    `rest` is how many bytes of the file come after its last whole member: of a write that was
    not done to its end, or of one that goes on.
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
        """What the header says that begins here; None if none of ours does."""
        head = os.pread(self._fd, _HEAD.size, self.end)
        if len(head) < _HEAD.size:
            return None
        begin, packed, size = _HEAD.unpack(head)
        return (packed, size) if begin == _BEGIN and packed > _HEAD.size + _END.size else None

    def _foreign(self, length: int) -> tuple[int, int]:
        """The lengths of a member that another program wrote; nothing if there is no whole one."""
        after, size = self.end, 0
        for data, place in _inflate(self._fd, self.end, length):
            after, size = place, size + len(data)
        return (after - self.end, size) if after > self.end else (0, 0)

    def read(self, start: int, end: int, name: Callable[[str], None] | None = None) -> bytes:
        """Bytes `start` to `end` of what it holds; BrokenMemberError. With `name`, that is passed
        what is damaged of them, and a newline stands in its place."""
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
        """The bytes of one member, checked; BrokenMemberError."""
        if (known := self._cache.get(member.at)) is not None:
            return known
        if member.size > _LARGEST:
            raise BrokenMemberError(member, b"")
        data = self.raw(member)
        try:
            # No more than it says that it holds: it may be made to fill the memory.
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
        """The bytes of one member as they are in the file."""
        return read_range(self._fd, member.at, member.at + member.packed)


def read_packed(path: str, name: Callable[[str], None] | None = None) -> Iterator[bytes]:
    """What a compressed file holds, from its beginning. What is damaged of it is passed to
    `name` in a sentence, and hides nothing else; a newline stands in its place."""
    fd = open_file(path)
    try:
        packed = Packed(fd)
        for member in packed.members:
            if member.size > 8 * MOST:  # of another program
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
    """One gzip member of any program: its bytes, and after each where the next would begin; that
    is `at` unless its end was found."""
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
    """What can be unpacked of a broken member, no more than it was to hold."""
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
    """What a block gives before it is broken: a step that fails gives nothing of itself."""
    for place in range(len(block)):
        try:
            yield decompress(block[place : place + 1])
        except zlib.error:
            return


def _find(fd: int, at: int, length: int) -> int | None:
    """Where the next member of ours begins."""
    while at < length:
        block = os.pread(fd, MOST, at)
        found = block.find(_BEGIN)
        if found >= 0:
            return at + found
        if len(block) < MOST:
            break
        at += len(block) - len(_BEGIN)
    return None
