"""The archive: compressed copies of the tools' transcripts, member by member."""

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
"""Bytes that a part of ours never holds: a larger one is of another program."""
_HINT = "`cortext doctor --fix` keeps what can be read, and takes the rest from the tool again"


class ArchiveCopy(NamedTuple):
    """One copy in the archive."""

    tool: str
    path: str


def list_copies(failures: dict[str, str] | None = None) -> Iterator[ArchiveCopy]:
    """All copies, without those that are kept under numbers: these are what they are. What cannot
    be looked into is a failure."""

    def fail(error: OSError) -> None:
        if failures is not None and not isinstance(error, FileNotFoundError):
            failures[str(error.filename)] = reason_of(error)

    for tool in tool_names():
        for folder, _, names in os.walk(folder_of(tool), onerror=fail):
            for name in sorted(names):
                if name.endswith(SUFFIX) and ".~" not in name:
                    yield ArchiveCopy(tool, os.path.join(folder, name))


def check_copy(copy: ArchiveCopy) -> CheckResult:
    """What is wrong with one copy. One that a sync is writing now may look damaged."""
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
    """What is wrong with a copy of 0 bytes: nothing, where the tool's file had none either."""
    if os.path.getsize(copy.path):
        return []
    known = Memory(copy.tool).copies.get(_name(copy))
    source = _source(copy)
    had = (known is not None and known.length) or (source and os.path.getsize(source))
    return ["it is empty, and was to hold a transcript"] if had else []


def _name(copy: ArchiveCopy) -> str:
    return os.path.relpath(copy.path, folder_of(copy.tool)).removesuffix(SUFFIX)


def _source(copy: ArchiveCopy) -> str | None:
    """The file that the tool has of it still."""
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
                continue  # it was unpacked already, to find where it ends
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
        return False  # where nobody can write, nobody does


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
            # A second name first: at no instant is there no copy.
            kept = _second_name(copy.path)
            replace(copy.path, map(pack, blocks), temp_dir=temp_dir())
            stamp(copy.path, mtime)
    size = sum(map(len, blocks))
    return Repaired(f"{copy.path} holds the {size} bytes that can be read{_again(copy)}", [kept])


def _second_name(path: str) -> str:
    """A number for a copy, the first that is free, as `set_generation_aside` gives them."""
    bare, number = path.removesuffix(SUFFIX), 1
    while os.path.lexists(kept := f"{bare}.~{number}{SUFFIX}"):
        number += 1
    link_or_copy(path, kept)
    sync_dir(os.path.dirname(path))
    return kept


def _again(copy: ArchiveCopy) -> str:
    """What the tool still has is copied anew; a clause that says so."""
    try:
        done = sync(tools=[copy.tool], wait=10.0)
    except CortextError as error:
        return f"; the rest could not be copied again: {error}"
    more = sum(one.read for one in done.tools)
    if not more:
        return f"; {copy.tool} has no more of it"
    return f", and {more} bytes were copied from {copy.tool} again"


def _readable(path: str) -> list[bytes]:
    """The whole lines that can be had, in pieces that fit into a member. Of what is lost in the
    middle a line ends before it."""
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
    """The lines that a file begins with which somebody unpacked and gave its name back."""
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
    """What can be had of a member that was not written to its end."""
    inflater, found = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    for start in range(0, len(data), 256):
        try:
            found += inflater.decompress(data[start : start + 256], 8 * MOST)
        except zlib.error:
            break
    return found
