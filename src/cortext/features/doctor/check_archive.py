"""Check the archive: decompress each gzip member of the copies of the tools' transcripts."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cortext import paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.file_lock import FileLock
from cortext.durability.gzip_members import MOST, SUFFIX, BrokenMemberError, Packed, pack
from cortext.durability.incremental_copy import set_generation_aside, stamp
from cortext.durability.read_files import open_file, read_range
from cortext.durability.replace_file import (
    link_or_copy,
    make_private_dir,
    replace,
    storage_errors,
)
from cortext.errors import CortextError, SessionLockedError, SessionStorageError, reason_of
from cortext.features.archive.archive_copies import Memory, folder_of, temp_dir
from cortext.features.archive.archive_sync import sync
from cortext.features.doctor.check_state_files import record_redactions
from cortext.features.doctor.problem import (
    NOTHING,
    CheckResult,
    Problem,
    Repair,
    Repaired,
    report_unreadable,
)
from cortext.model import json_codec, record_dicts
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import tool_names

_OURS = 8 * MOST
"""The largest size of a gzip member that cortext writes. Larger members are of other programs."""
_HINT = "`cortext doctor --fix` keeps what can be read, and takes the rest from the tool again"


class ArchiveCopy(NamedTuple):
    """The archive's copy of one transcript: the tool, and the path of the copy."""

    tool: str
    path: str


def list_copies(failures: dict[str, str] | None = None) -> Iterator[ArchiveCopy]:
    """Yield all copies in the archive except numbered old versions, which no longer change.

    A folder that cannot be read is added to `failures`, with the reason.
    """

    def fail(error: OSError) -> None:
        if failures is not None and not isinstance(error, FileNotFoundError):
            failures[str(error.filename)] = reason_of(error)

    for tool in tool_names():
        for folder, _, names in os.walk(folder_of(tool), onerror=fail):
            for name in sorted(names):
                if name.endswith(SUFFIX) and ".~" not in name:
                    yield ArchiveCopy(tool, os.path.join(folder, name))


def check_copy(copy: ArchiveCopy) -> CheckResult:
    """Return the problems of one copy in the archive, and their repair.

    Report nothing while a sync is running, because the sync may be writing the copy.
    """
    try:
        damages = _damages(copy.path) or _emptied(copy)
        if not damages or _sync_is_at_work():
            return NOTHING
        readable, source = bool(_readable(copy.path)), _source(copy)
    except OSError as error:
        return report_unreadable(copy.path, error)
    if not readable and source is None:
        hint = f"nothing of it can be read, and {copy.tool} has it no more: it was left as it is"
        return CheckResult(
            [Problem(f"{copy.path}: {text}", hint, path=copy.path) for text in damages]
        )
    mend = f"write {copy.path} anew with what can be read"
    mend += f", and copy the rest from {copy.tool}" if source else f": {copy.tool} has it no more"
    problems = [
        Problem(f"{copy.path}: {text}", _HINT, path=copy.path, mend=mend) for text in damages
    ]
    return CheckResult(problems, Repair(mend, partial(_repair, copy)))


def _emptied(copy: ArchiveCopy) -> list[str]:
    """Return the damage of an empty copy; [] if the copy has content or should be empty."""
    if os.path.getsize(copy.path):
        return []
    known = Memory(copy.tool).copies.get(_name(copy))
    source = _source(copy)
    had = (known is not None and known.length) or (source and os.path.getsize(source))
    return ["it is empty, and was to hold a transcript"] if had else []


def _name(copy: ArchiveCopy) -> str:
    return os.path.relpath(copy.path, folder_of(copy.tool)).removesuffix(SUFFIX)


def _source(copy: ArchiveCopy) -> str | None:
    """Return the path of the tool's transcript of a copy; None if the tool no longer has it."""
    name = _name(copy)
    return next(
        (item.path for item in archive_source(copy.tool).items({}) if item.name == name), None
    )


def _damages(path: str) -> list[str]:
    fd = open_file(path)
    try:
        packed = Packed(fd)
        found = [f"of the compressed copy {gap}" for gap in packed.gaps]
        for member in packed.members:
            if member.size > _OURS:
                continue  # Already decompressed by `Packed`, to find the end of the member.
            try:
                packed.member(member)
            except BrokenMemberError as error:
                found.append(str(error))
        if packed.rest:
            found.append(f"its last {packed.rest} bytes are not a whole part: it is truncated")
        return found
    finally:
        os.close(fd)


def _sync_is_at_work() -> bool:
    try:
        with _lock(0.0):
            return False
    except SessionLockedError:
        return True
    except (OSError, SessionStorageError):
        return False  # If the lock file cannot be written, no sync is running.


def _lock(wait: float = 10.0) -> FileLock:
    return FileLock(os.path.join(paths.archive(), ".lock"), guards=paths.archive(), wait=wait)


def _repair(copy: ArchiveCopy) -> Repaired | None:
    with storage_errors("mend", copy.path), _lock():
        if not (_damages(copy.path) or _emptied(copy)):
            return None
        blocks, mtime = _readable(copy.path), os.stat(copy.path).st_mtime_ns
        if not blocks and _source(copy) is None:
            return None
        make_private_dir(temp_dir())
        record_redactions(copy.tool, copy.path, b"".join(blocks))
        if not blocks:
            kept = set_generation_aside(copy.path)
        else:
            # Link the copy to a second name first, so that a copy exists at every moment.
            kept = _second_name(copy.path)
            replace(copy.path, map(pack, blocks), temp_dir=temp_dir())
            stamp(copy.path, mtime)
    size = sum(map(len, blocks))
    return Repaired(f"{copy.path} holds the {size} bytes that can be read{_again(copy)}", [kept])


def _second_name(path: str) -> str:
    """Link a copy to the first free numbered name, and return the path of the link."""
    bare, number = path.removesuffix(SUFFIX), 1
    while os.path.lexists(kept := f"{bare}.~{number}{SUFFIX}"):
        number += 1
    link_or_copy(path, kept)
    sync_dir(os.path.dirname(path))
    return kept


def _again(copy: ArchiveCopy) -> str:
    """Copy what the tool still has of a transcript, and return a clause about the outcome."""
    try:
        done = sync(tools=[copy.tool], wait=10.0)
    except CortextError as error:
        return f"; the rest could not be copied again: {error}"
    more = sum(one.read for one in done.tools)
    if not more:
        return f"; {copy.tool} has no more of it"
    return f", and {more} bytes were copied from {copy.tool} again"


def _readable(path: str) -> list[bytes]:
    """Return the readable lines of a damaged copy, in blocks that fit into a gzip member.

    Where bytes are missing in the middle, the text before the gap ends with a complete line.
    """
    fd = open_file(path)
    try:
        packed = Packed(fd)
        found = _plain(fd, packed)
        for member in packed.members:
            if member.size > _OURS:
                found.append(zlib.decompress(packed.raw(member), zlib.MAX_WBITS | 16))
                continue
            try:
                found.append(packed.member(member))
            except BrokenMemberError as error:
                found.append(_whole_lines(error.data))
        rest = read_range(fd, packed.end, packed.end + packed.rest)
    finally:
        os.close(fd)
    found.append(_whole_lines(_unpacked(rest)))
    return _pieces(found)


def _plain(fd: int, packed: Packed) -> list[bytes]:
    """Return the uncompressed bytes at the start of a copy, as a list of one block; [] if none.

    There are some if the user decompressed the copy and kept its name.
    """
    end = packed.members[0].at if packed.members else packed.end + packed.rest
    data = read_range(fd, 0, end)
    try:
        record_dicts.as_dict(json_codec.decode(data.partition(b"\n")[0]))
    except ValueError:
        return []
    return [data]


def _pieces(blocks: Sequence[bytes]) -> list[bytes]:
    return [block[start : start + MOST] for block in blocks for start in range(0, len(block), MOST)]


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _unpacked(data: bytes) -> bytes:
    """Return the bytes that can be decompressed from an incomplete gzip member."""
    inflater, found = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    for start in range(0, len(data), 256):
        try:
            found += inflater.decompress(data[start : start + 256], 8 * MOST)
        except zlib.error:
            break
    return found
