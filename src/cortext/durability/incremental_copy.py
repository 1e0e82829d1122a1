"""Compressed copies of growing files, such as transcripts. An update adds only the new part.

A copy never loses data. If the original file no longer starts with the data of its copy, the copy
is renamed to `NAME.~1.gz`, `NAME.~2.gz` and so on, and a new copy is started. Only one process at a
time may write a copy.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cortext.durability.disk_sync import sync_data, sync_dir
from cortext.durability.gzip_members import MOST, SUFFIX, BrokenMemberError, Member, Packed, pack
from cortext.durability.read_files import open_file, read_range
from cortext.durability.replace_file import make_private_dir, replace, storage_errors, write_all

RESTS = 60.0
"""After this many seconds without a change, a last line without a newline counts as complete."""
FOLD = 32
"""The number of appended gzip members after which small members are joined to larger ones."""
_TAIL = 1 << 16
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyState(NamedTuple):
    """The state of a copy. A lost state can be computed again by decompressing the copy.

    `print` is the fingerprint of the original file when the copy was last complete, or "" if the
    copy is not complete. `length` is the number of bytes that were copied, and `packed` is the
    compressed size. `digest` is a checksum of the last copied bytes. `added` is the number of gzip
    members that were appended since small members were joined.
    """

    print: str = ""
    length: int = 0
    packed: int = 0
    digest: str = ""
    added: int = 0


class Followed(NamedTuple):
    """The result of an update of a copy.

    `change` is "new", "grown", "replaced", or "" if nothing changed. `known` is the new state of
    the copy. `read` is the number of bytes that were copied from the original file.
    """

    known: CopyState
    change: str = ""
    read: int = 0


def print_of(found: os.stat_result) -> str:
    """Return a file's fingerprint, made of its time, size and inode."""
    return f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"


def follow(
    source: str, target: str, known: CopyState | None, *, temp_dir: str, document: bool = False
) -> Followed:
    """Update the copy `target` of the file `source`, and return the new state of the copy.

    `known` is the state after the previous update, if the caller has it. If `document` is true,
    programs always rewrite the whole file, so the whole copy is replaced. If the new document is
    shorter or incomplete, the old copy is first renamed to `NAME.~1.gz`. If the file was only
    truncated, its copy stays as it is.

    Raises:
        OSError: The file `source` cannot be read.
        SessionStorageError: The copy cannot be written.
    """
    if known and known.print == print_of(os.stat(source)) and _length(target) == known.packed:
        return Followed(known)
    fd = open_file(source)
    try:
        found = os.fstat(fd)
        with storage_errors("archive into", target):
            base = sound_copy(target, known)
            if base.packed and _is_beginning(fd, found.st_size, target, base):
                if found.st_size == base.length:
                    _cut(target, base.packed)
                return Followed(base._replace(print=print_of(found)))
            change = "grown" if base.packed else "new"
            if document:
                if base.packed and not _is_whole(fd, found.st_size, base.length):
                    change = "replaced"
                    set_generation_aside(target)
                base = CopyState()
            elif not _continues(fd, found.st_size, base):
                change = "replaced"
                set_generation_aside(target)
                base = CopyState()
            result = _take(fd, found, target, base, temp_dir, document)
    finally:
        os.close(fd)
    return result._replace(change=change if result.read else "")


def _take(
    fd: int, found: os.stat_result, target: str, base: CopyState, temp_dir: str, document: bool
) -> Followed:
    end = found.st_size
    if not document and time.time() - found.st_mtime < RESTS:
        end = _after_last_newline(fd, base.length, end)
    done = print_of(found) if end == found.st_size else ""
    if end <= base.length:
        return Followed(base._replace(print=done))
    tail = TailBuffer(read_range(fd, max(base.length - _TAIL, 0), base.length))
    blocks = tail.watch(_blocks(fd, base.length, end))
    if document:
        make_private_dir(os.path.dirname(target))
        packed = replace(target, map(pack, blocks), temp_dir=temp_dir).st_size
        known = CopyState(done, tail.seen, packed, tail.digest)
    else:
        known = extend(target, base, blocks, temp_dir=temp_dir)
        known = known._replace(print=done, length=base.length + tail.seen, digest=tail.digest)
    stamp(target, found.st_mtime_ns)
    return Followed(known, read=tail.seen)


class TailBuffer:
    """A buffer of the last 64 KB of a stream. `seen` is the number of bytes that passed through.

    `before` is the data before the stream.
    """

    def __init__(self, before: bytes = b"") -> None:
        self._last = before
        self.seen: int = 0

    def watch(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self._last = (self._last + block)[-_TAIL:]
            self.seen += len(block)
            yield block

    @property
    def digest(self) -> str:
        return _digest(self._last)


def extend(target: str, base: CopyState, blocks: Iterable[bytes], *, temp_dir: str) -> CopyState:
    """Compress blocks, append them durably to a copy, and return `base` with new sizes.

    `base` is the last known state of the copy. If the copy is now larger than `base.packed`, the
    rest is from an unfinished write and is removed first. A failed write leaves the copy as it was.
    The result differs from `base` only in `packed` and `added`.
    """
    make_private_dir(os.path.dirname(target))
    fd = os.open(target, _APPEND, 0o600)
    added = 0
    try:
        try:
            if os.fstat(fd).st_size > base.packed:
                os.ftruncate(fd, base.packed)
            for piece in _pieces(blocks):
                write_all(fd, pack(piece))
                added += 1
            sync_data(fd)
        except BaseException:
            os.ftruncate(fd, base.packed)
            if not base.packed:
                os.unlink(target)
            raise
        packed = os.fstat(fd).st_size
    finally:
        os.close(fd)
    if not base.packed:
        sync_dir(os.path.dirname(target))
    if base.added + added < FOLD:
        return base._replace(packed=packed, added=base.added + added)
    return base._replace(packed=fold(target, temp_dir=temp_dir), added=0)


def _cut(target: str, length: int) -> None:
    """Remove the bytes of an unfinished write from the end of a copy."""
    if _length(target) > length:
        fd = os.open(target, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.ftruncate(fd, length)
        finally:
            os.close(fd)


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    for block in blocks:
        if len(block) <= MOST:
            yield block
        else:
            for start in range(0, len(block), MOST):
                yield memoryview(block)[start : start + MOST]


def stamp(target: str, mtime_ns: int) -> None:
    """Set the modification time of a copy to the time of its original file.

    Readers of the copy use this time if the transcript states none.
    """
    os.utime(target, ns=(mtime_ns, mtime_ns))


def fold(target: str, *, temp_dir: str) -> int:
    """Join the small gzip members of a copy to larger ones, and return the new compressed size.

    Large members are copied unchanged. A damaged copy is not changed at all.
    """
    fd = open_file(target)
    found = os.fstat(fd)
    try:
        packed = Packed(fd)
        if packed.gaps or packed.rest:
            return found.st_size
        folded = replace(target, _joined(packed), temp_dir=temp_dir)
    except BrokenMemberError:
        return found.st_size
    finally:
        os.close(fd)
    stamp(target, found.st_mtime_ns)
    return folded.st_size


def _joined(packed: Packed) -> Iterator[bytes]:
    group: list[Member] = []
    for member in [*packed.members, Member(0, 0, 0, MOST)]:
        most = MOST if max(one.size for one in [*group, member]) < MOST // 2 else 0
        if group and sum(one.size for one in group) + member.size > most:
            if len(group) == 1:
                yield packed.raw(group[0])
            else:
                yield pack(b"".join(map(packed.member, group)))
            group = []
        group.append(member)


def sound_copy(target: str, known: CopyState | None) -> CopyState:
    """Return the state of a copy. If `known` has another size than the copy, compute a new state.

    A new state is computed by decompressing the copy. A damaged copy is renamed to `NAME.~1.gz`,
    and the result is the empty state, so that the caller starts a new copy.
    """
    length = _length(target)
    if known and known.packed == length:
        return known
    if not length:
        return CopyState()
    fd = open_file(target)
    try:
        packed = Packed(fd)
        tail = TailBuffer()
        for _ in tail.watch(map(packed.member, packed.members)):
            pass
    except BrokenMemberError:
        set_generation_aside(target)
        return CopyState()
    finally:
        os.close(fd)
    if packed.gaps:
        set_generation_aside(target)
        return CopyState()
    needed = 2 * (packed.size // MOST + 1)
    spare = max(len(packed.members) - needed, 0)
    return CopyState("", packed.size, packed.end, tail.digest, spare)


def set_generation_aside(target: str) -> str:
    """Rename a copy to the first free name of `NAME.~1.gz`, `NAME.~2.gz` and so on; return it."""
    bare = target.removesuffix(SUFFIX)
    number = 1
    while os.path.lexists(kept := f"{bare}.~{number}{SUFFIX}"):
        number += 1
    os.rename(target, kept)
    sync_dir(os.path.dirname(target))
    return kept


def _continues(fd: int, size: int, base: CopyState) -> bool:
    """Return whether a file starts with the data of its copy.

    Only the last 64 KB of that data are compared.
    """
    if size < base.length:
        return False
    if not base.length:
        return True
    return _digest(read_range(fd, max(base.length - _TAIL, 0), base.length)) == base.digest


def _is_beginning(fd: int, size: int, target: str, base: CopyState) -> bool:
    """Return whether a file is equal to its copy, or was truncated since it was copied."""
    if size > base.length:
        return False
    start = max(size - _TAIL, 0)
    last = read_range(fd, start, size)
    if size == base.length:
        return _digest(last) == base.digest
    copy = open_file(target)
    try:
        return Packed(copy).read(start, size) == last
    except BrokenMemberError:
        return False
    finally:
        os.close(copy)


def _is_whole(fd: int, size: int, before: int) -> bool:
    """Return whether a JSON document starts and ends with a bracket and did not become shorter.

    `before` is its length when it was last copied.
    """
    ends = os.pread(fd, 64, 0).lstrip()[:1] + os.pread(fd, 64, max(size - 64, 0)).rstrip()[-1:]
    return size >= before and ends in (b"{}", b"[]")


def _after_last_newline(fd: int, start: int, end: int) -> int:
    while end > start:
        before = max(end - _TAIL, start)
        found = read_range(fd, before, end).rfind(b"\n")
        if found >= 0:
            return before + found + 1
        end = before
    return start


def _blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        block = read_range(fd, start, min(start + MOST, end))
        if not block:
            break  # the file was truncated in the meantime: the next update notices
        start += len(block)
        yield block


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _length(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
