"""Check the archive, which has a compressed copy of each transcript of the AI tools.

A copy is a gzip file with several members (parts that can be decompressed on their own). The check
decompresses every member.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from cortext import paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    link_or_copy,
    make_private_dir,
    replace,
    storage_errors,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.gzip_members import MOST, SUFFIX, BrokenMemberError, Packed, pack
from cortext.durability.incremental_copy import rename_old_copy, stamp
from cortext.durability.read_files import open_file, read_range
from cortext.errors import CortextError, SessionLockedError, SessionStorageError, reason_of
from cortext.features.archive.archive_copy_states import Memory, folder_of, temp_dir
from cortext.features.archive.archive_sync import sync
from cortext.features.doctor.check_results import (
    NOTHING,
    CheckResult,
    Problem,
    Repair,
    Repaired,
    report_unreadable,
)
from cortext.features.doctor.check_state_files import record_redactions
from cortext.model import json_codec, message_dicts
from cortext.tools.archive_items import archive_source
from cortext.tools.registry import tool_names

_MAX_MEMBER = 8 * MOST
"""The maximum size in bytes of a gzip member that cortext writes.

A larger member was written by another program.
"""
_HINT = "`cortext doctor --fix` keeps the readable part and copies the rest from the tool again"


class ArchiveCopy(NamedTuple):
    """The archive's copy of one transcript: the tool, and the path of the copy."""

    tool: str
    path: str


def list_copies(failures: dict[str, str] | None = None) -> Iterator[ArchiveCopy]:
    """Yield the current copy of each transcript in the archive, and skip numbered old versions.

    If a folder cannot be read, add its path and the reason to `failures`.
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
    """Check one copy in the archive. Return its problems, and a repair if one is possible.

    Report nothing while a sync is running: it copies transcripts and may be writing this copy.
    """
    try:
        damages = _find_damage(copy.path) or _find_missing_content(copy)
        if not damages or _is_sync_running():
            return NOTHING
        readable, source = bool(_read_blocks(copy.path)), _find_source(copy)
    except OSError as error:
        return report_unreadable(copy.path, error)
    if not readable and source is None:
        hint = f"the copy is unreadable, and {copy.tool} no longer has the transcript"
        return CheckResult(
            [Problem(f"{copy.path}: {text}", hint, path=copy.path) for text in damages]
        )
    mend = f"rewrite {copy.path} with the readable part"
    rest = f"; {copy.tool} no longer has the rest"
    mend += f", and copy the rest from {copy.tool}" if source else rest
    problems = [
        Problem(f"{copy.path}: {text}", _HINT, path=copy.path, mend=mend) for text in damages
    ]
    return CheckResult(problems, Repair(mend, partial(_repair, copy)))


def _find_missing_content(copy: ArchiveCopy) -> list[str]:
    """Return a description of the damage if a copy is empty but should not be; otherwise []."""
    if os.path.getsize(copy.path):
        return []
    known = Memory(copy.tool).copies.get(_copy_name(copy))
    source = _find_source(copy)
    had_content = (known is not None and known.length) or (source and os.path.getsize(source))
    return ["the copy is empty, but should contain a transcript"] if had_content else []


def _copy_name(copy: ArchiveCopy) -> str:
    return os.path.relpath(copy.path, folder_of(copy.tool)).removesuffix(SUFFIX)


def _find_source(copy: ArchiveCopy) -> str | None:
    """Return the path of the transcript of this copy; None if the tool no longer has it."""
    name = _copy_name(copy)
    return next(
        (item.path for item in archive_source(copy.tool).items({}) if item.name == name), None
    )


def _find_damage(path: str) -> list[str]:
    fd = open_file(path)
    try:
        packed = Packed(fd)
        found = [f"in the compressed copy, {gap}" for gap in packed.gaps]
        for member in packed.members:
            if member.size > _MAX_MEMBER:
                continue  # Already decompressed by `Packed`, to find the end of the member.
            try:
                packed.member(member)
            except BrokenMemberError as error:
                found.append(str(error))
        if packed.rest:
            found.append(f"the copy is truncated: its last {packed.rest} bytes are incomplete")
        return found
    finally:
        os.close(fd)


def _is_sync_running() -> bool:
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
    with storage_errors("repair", copy.path), _lock():
        if not (_find_damage(copy.path) or _find_missing_content(copy)):
            return None
        blocks, mtime = _read_blocks(copy.path), os.stat(copy.path).st_mtime_ns
        if not blocks and _find_source(copy) is None:
            return None
        make_private_dir(temp_dir())
        record_redactions(copy.tool, copy.path, b"".join(blocks))
        if not blocks:
            old_copy = rename_old_copy(copy.path)
        else:
            # Link the copy to a second name first, so that a copy exists at every moment.
            old_copy = _link_old_version(copy.path)
            replace(copy.path, map(pack, blocks), temp_dir=temp_dir())
            stamp(copy.path, mtime)
    size = sum(map(len, blocks))
    return Repaired(f"{copy.path} contains the {size} readable bytes{_copy_rest(copy)}", [old_copy])


def _link_old_version(path: str) -> str:
    """Keep the copy at `path` as an old version under a second name. Return the second path.

    The second name is a hard link if possible. It has the first free number, such as `NAME.~1.gz`.
    """
    bare, number = path.removesuffix(SUFFIX), 1
    while os.path.lexists(link := f"{bare}.~{number}{SUFFIX}"):
        number += 1
    link_or_copy(path, link)
    sync_dir(os.path.dirname(path))
    return link


def _copy_rest(copy: ArchiveCopy) -> str:
    """Copy the rest of a transcript from the tool's folder into the archive.

    Return a clause for the report. It says how many bytes were copied, or why nothing was copied.
    """
    try:
        done = sync(tools=[copy.tool], wait=10.0)
    except CortextError as error:
        return f"; the rest could not be copied again: {error}"
    more = sum(one.read for one in done.tools)
    if not more:
        return f"; {copy.tool} has no more data for it"
    return f", and {more} bytes were copied from {copy.tool} again"


def _read_blocks(path: str) -> list[bytes]:
    """Return the readable lines of a damaged copy, in blocks that fit into a gzip member.

    If bytes are missing in the middle, drop the incomplete line before the gap.
    """
    fd = open_file(path)
    try:
        packed = Packed(fd)
        found = _read_uncompressed(fd, packed)
        for member in packed.members:
            if member.size > _MAX_MEMBER:
                found.append(zlib.decompress(packed.raw(member), zlib.MAX_WBITS | 16))
                continue
            try:
                found.append(packed.member(member))
            except BrokenMemberError as error:
                found.append(_whole_lines(error.data))
        rest = read_range(fd, packed.end, packed.end + packed.rest)
    finally:
        os.close(fd)
    found.append(_whole_lines(_decompress_start(rest)))
    return _split_blocks(found)


def _read_uncompressed(fd: int, packed: Packed) -> list[bytes]:
    """Return the uncompressed bytes at the start of an archive copy, as a list with one block.

    The copy of a transcript is normally compressed. It starts with uncompressed bytes if the user
    decompressed the file but kept its name. `fd` is the open copy. Return [] if the copy does not
    start with an uncompressed JSON object.
    """
    end = packed.members[0].at if packed.members else packed.end + packed.rest
    data = read_range(fd, 0, end)
    try:
        message_dicts.as_dict(json_codec.decode(data.partition(b"\n")[0]))
    except ValueError:
        return []
    return [data]


def _split_blocks(blocks: Sequence[bytes]) -> list[bytes]:
    return [block[start : start + MOST] for block in blocks for start in range(0, len(block), MOST)]


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _decompress_start(data: bytes) -> bytes:
    """Return the bytes that can be decompressed from an incomplete gzip member."""
    inflater, found = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    for start in range(0, len(data), 256):
        try:
            found += inflater.decompress(data[start : start + 256], 8 * MOST)
        except zlib.error:
            break
    return found
