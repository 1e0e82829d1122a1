"""Compressed copies of growing files, such as transcripts. An update adds only the new part.

A copy never loses data. If the original file no longer starts with the data in its copy, the copy
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
from cortext.durability.durable_files import make_private_dir, replace, storage_errors, write_all
from cortext.durability.gzip_members import MOST, SUFFIX, BrokenMemberError, Member, Packed, pack
from cortext.durability.read_files import open_file, read_range

RESTS = 60.0
"""After this many seconds without a change, a last line without a newline counts as complete."""
FOLD = 32
"""The number of appended gzip members after which small members are joined into larger ones."""
_TAIL = 1 << 16
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyState(NamedTuple):
    """The state of a compressed copy. A lost state can be computed again from the copy.

    - `print`: the fingerprint (time, size, inode) that the original file had when all of it was
      copied, or "" if the copy is not complete
    - `length`: the number of bytes of the original file that were copied
    - `packed`: the size of the copy in bytes
    - `digest`: a checksum of the last 64 KB that were copied
    - `added`: the number of gzip members (compressed blocks) appended since the last `fold`
    """

    print: str = ""
    length: int = 0
    packed: int = 0
    digest: str = ""
    added: int = 0


class CopyUpdate(NamedTuple):
    """The result of an update of a copy.

    `change` is "new", "grown", "replaced", or "" if no data was copied. `known` is the new state of
    the copy. `read` is the number of bytes that were copied from the original file.
    """

    known: CopyState
    change: str = ""
    read: int = 0


def stat_fingerprint(status: os.stat_result) -> str:
    """Return a file's fingerprint, made of its time, size and inode."""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def follow(
    source: str, target: str, known: CopyState | None, *, temp_dir: str, document: bool = False
) -> CopyUpdate:
    """Update `target`, the compressed copy of the file `source`, and return the result.

    Only the new end of the file is compressed and appended. A last line without a newline is copied
    only when the file has not changed for `RESTS` seconds. If the end of the file was
    cut off and the rest is unchanged, the copy keeps the end. If the file no longer starts with the
    copied data, the old copy is renamed, and a new copy is started. `known` is the state of the
    copy after the last update; None if this state is unknown.

    Set `document` for a JSON document, which programs always rewrite as a whole. The copy is then
    replaced as a whole. If the new document is shorter or incomplete, the old copy is renamed.

    Raises:
        OSError: The file `source` cannot be read.
        SessionStorageError: The copy cannot be written.
    """
    if (
        known
        and known.print == stat_fingerprint(os.stat(source))
        and _file_size(target) == known.packed
    ):
        return CopyUpdate(known)
    fd = open_file(source)
    try:
        status = os.fstat(fd)
        with storage_errors("archive into", target):
            base = verified_copy_state(target, known)
            if base.packed and _is_equal_or_truncated(fd, status.st_size, target, base):
                if status.st_size == base.length:
                    _truncate(target, base.packed)
                return CopyUpdate(base._replace(print=stat_fingerprint(status)))
            change = "grown" if base.packed else "new"
            if document:
                if base.packed and not _is_complete_document(fd, status.st_size, base.length):
                    change = "replaced"
                    rename_old_copy(target)
                base = CopyState()
            elif not _starts_with_copy(fd, status.st_size, base):
                change = "replaced"
                rename_old_copy(target)
                base = CopyState()
            result = _copy_new_part(fd, status, target, base, temp_dir, document)
    finally:
        os.close(fd)
    return result._replace(change=change if result.read else "")


def _copy_new_part(
    fd: int, status: os.stat_result, target: str, base: CopyState, temp_dir: str, document: bool
) -> CopyUpdate:
    end = status.st_size
    if not document and time.time() - status.st_mtime < RESTS:
        end = _after_last_newline(fd, base.length, end)
    fingerprint = stat_fingerprint(status) if end == status.st_size else ""
    if end <= base.length:
        return CopyUpdate(base._replace(print=fingerprint))
    tail = TailBuffer(read_range(fd, max(base.length - _TAIL, 0), base.length))
    blocks = tail.watch(_read_blocks(fd, base.length, end))
    if document:
        make_private_dir(os.path.dirname(target))
        packed = replace(target, map(pack, blocks), temp_dir=temp_dir).st_size
        known = CopyState(fingerprint, tail.seen, packed, tail.digest)
    else:
        known = extend(target, base, blocks, temp_dir=temp_dir)
        known = known._replace(
            print=fingerprint, length=base.length + tail.seen, digest=tail.digest
        )
    stamp(target, status.st_mtime_ns)
    return CopyUpdate(known, read=tail.seen)


class TailBuffer:
    """Keeps the last 64 KB of a stream of blocks, to compute their checksum.

    `seen` is the number of bytes of the stream so far. `before` is the data just before the stream.
    As long as the stream has less than 64 KB, the end of `before` belongs to the last 64 KB.
    """

    def __init__(self, before: bytes = b"") -> None:
        self._last = before
        self.seen: int = 0

    def watch(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield each of the blocks, and remember the last 64 KB of them."""
        for block in blocks:
            self._last = (self._last + block)[-_TAIL:]
            self.seen += len(block)
            yield block

    @property
    def digest(self) -> str:
        return _digest(self._last)


def extend(target: str, base: CopyState, blocks: Iterable[bytes], *, temp_dir: str) -> CopyState:
    """Compress blocks, append them durably to the copy `target`, and return the copy's new state.

    `base` is the last known state of the copy. If the copy is larger than `base.packed`, the last
    write was not finished, and the copy is first cut to this size. If the new write fails, the copy
    is cut to this size again. The result is `base` with new values of `packed` and `added`.
    """
    make_private_dir(os.path.dirname(target))
    fd = os.open(target, _APPEND, 0o600)
    added = 0
    try:
        try:
            if os.fstat(fd).st_size > base.packed:
                os.ftruncate(fd, base.packed)
            for piece in _split_large_blocks(blocks):
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


def _truncate(target: str, length: int) -> None:
    """Cut a copy to `length` bytes, to remove the bytes of an unfinished write."""
    if _file_size(target) > length:
        fd = os.open(target, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.ftruncate(fd, length)
        finally:
            os.close(fd)


def _split_large_blocks(blocks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    for block in blocks:
        if len(block) <= MOST:
            yield block
        else:
            for start in range(0, len(block), MOST):
                yield memoryview(block)[start : start + MOST]


def stamp(target: str, mtime_ns: int) -> None:
    """Set the modification time of a copy to the time of its original file.

    Readers of the copy use this time if the transcript itself contains no times.
    """
    os.utime(target, ns=(mtime_ns, mtime_ns))


def fold(target: str, *, temp_dir: str) -> int:
    """Join small gzip members of a copy into larger ones, and return the new size of the copy.

    Large members are copied byte for byte. A damaged copy is not changed.
    """
    fd = open_file(target)
    status = os.fstat(fd)
    try:
        packed = Packed(fd)
        if packed.gaps or packed.rest:
            return status.st_size
        folded = replace(target, _join_small_members(packed), temp_dir=temp_dir)
    except BrokenMemberError:
        return status.st_size
    finally:
        os.close(fd)
    stamp(target, status.st_mtime_ns)
    return folded.st_size


def _join_small_members(packed: Packed) -> Iterator[bytes]:
    group: list[Member] = []
    for member in [*packed.members, Member(0, 0, 0, MOST)]:
        most = MOST if max(each.size for each in [*group, member]) < MOST // 2 else 0
        if group and sum(each.size for each in group) + member.size > most:
            if len(group) == 1:
                yield packed.raw(group[0])
            else:
                yield pack(b"".join(map(packed.member, group)))
            group = []
        group.append(member)


def verified_copy_state(target: str, known: CopyState | None) -> CopyState:
    """Return the current state of the copy `target`.

    `known` is the last known state, or None. It is returned if the copy has the size
    `known.packed`. If not, the copy is decompressed to compute its state. If the copy is damaged,
    it is renamed to `NAME.~1.gz`, and an empty state is returned, so that the caller starts a new
    copy.
    """
    length = _file_size(target)
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
        rename_old_copy(target)
        return CopyState()
    finally:
        os.close(fd)
    if packed.gaps:
        rename_old_copy(target)
        return CopyState()
    needed = 2 * (packed.size // MOST + 1)
    extra = max(len(packed.members) - needed, 0)
    return CopyState("", packed.size, packed.end, tail.digest, extra)


def rename_old_copy(target: str) -> str:
    """Rename a copy to `NAME.~1.gz`, `NAME.~2.gz` or the next free name. Return the new path."""
    bare = target.removesuffix(SUFFIX)
    number = 1
    while os.path.lexists(new_path := f"{bare}.~{number}{SUFFIX}"):
        number += 1
    os.rename(target, new_path)
    sync_dir(os.path.dirname(target))
    return new_path


def _starts_with_copy(fd: int, size: int, base: CopyState) -> bool:
    """Return whether a file of `size` bytes still starts with the data that was copied from it.

    `base` is the state of the copy. Only the last 64 KB of the copied data are compared.
    """
    if size < base.length:
        return False
    if not base.length:
        return True
    return _digest(read_range(fd, max(base.length - _TAIL, 0), base.length)) == base.digest


def _is_equal_or_truncated(fd: int, size: int, target: str, base: CopyState) -> bool:
    """Return whether a file is equal to its copy, or was only truncated since it was copied.

    `size` is the size of the file now. Only its last 64 KB are compared.
    """
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


def _is_complete_document(fd: int, size: int, old_size: int) -> bool:
    """Return whether a JSON document starts and ends with a bracket and did not become shorter.

    `size` is the length of the document now, and `old_size` is its length at the last copy.
    """
    brackets = os.pread(fd, 64, 0).lstrip()[:1] + os.pread(fd, 64, max(size - 64, 0)).rstrip()[-1:]
    return size >= old_size and brackets in (b"{}", b"[]")


def _after_last_newline(fd: int, start: int, end: int) -> int:
    while end > start:
        before = max(end - _TAIL, start)
        position = read_range(fd, before, end).rfind(b"\n")
        if position >= 0:
            return before + position + 1
        end = before
    return start


def _read_blocks(fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        block = read_range(fd, start, min(start + MOST, end))
        if not block:
            break  # the file was truncated in the meantime: the next update handles that
        start += len(block)
        yield block


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
