"""What the archive mirrors of a tool's folder: transcripts, and the small files that lead to them.

The mirror is laid out like the folder, so that the same bridges read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState, Followed, print_of
from cortext.durability.read_files import open_file, read_file
from cortext.durability.replace_file import make_private_dir, replace, storage_errors, temp_name
from cortext.errors import SessionStorageError
from cortext.tools import jsonl_transcripts
from cortext.tools.descriptor import MissingCapabilityError, Tool
from cortext.tools.registry import find_tool
from cortext.tools.transcript_folders import is_transcript_name, transcript_folders


class ArchiveItem(NamedTuple):
    """A file of a tool and its `name` in the mirror, without what says that it is compressed.

    `kind` is "log" for a file that grows, "document" for a file that is written again as a whole,
    "cold" for a file that the tool compressed, "side" for a file that leads to transcripts, and
    "rows" for a session in a database; `print` tells whether that changed. `id` is the session's,
    as far as the place tells.
    """

    path: str
    name: str
    kind: str
    id: str = ""
    print: str = ""


Failures = dict[str, str]
"""What could not be read, and why."""
Change = Callable[[bytes], bytes]
"""How a line becomes the line of the copy."""


class ArchiveSource:
    """What the archive takes from a tool. This class serves every tool whose sessions are files
    in the folders of `Tool.transcripts`; a subclass knows better."""

    moves_transcripts: bool = False
    """Whether the tool moves transcripts to other folders, or continues one in another file."""

    titles_file: str = ""
    """A companion that has the titles of sessions, and so may have a secret."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.home: str = tool.home

    def items(self, failures: Failures) -> Iterator[ArchiveItem]:
        """Yield everything to mirror. What cannot be read is added to `failures`.

        A transcript that is a link out of the tool's folder is no transcript of the tool.
        """
        home = os.path.realpath(self.home)
        return (item for item in self.files() if not _leads_out(item, home, failures))

    def files(self) -> Iterator[ArchiveItem]:
        """Yield the files to mirror."""
        for name in self.tool.companions:
            yield from self.companion(name)
        for folder, names in transcript_folders(self.tool, self.home):
            for name in names:
                path = os.path.join(folder, name)
                if is_transcript_name(self.tool, name) and os.path.isfile(path):
                    yield self.item(path)

    def merge_companion(self, name: str, old: bytes, new: bytes) -> bytes:
        """Return the new copy of a companion. It must still lead to what the old copy led to."""
        return new

    def copy_name(self, session_id: str) -> str:
        """Return the name of a database session's copy; "" if sessions are files."""
        return ""

    def copy_rows(
        self,
        item: ArchiveItem,
        target: str,
        known: CopyState | None,
        *,
        temp_dir: str,
        change: Change | None,
    ) -> Followed:
        """Bring the copy of a session up to its rows, each as `change` makes it."""
        raise MissingCapabilityError(self.tool, "archive")

    def read_rows(self, path: str, session_id: str) -> list[bytes]:
        """Return the rows of a session as lines of the archive."""
        raise MissingCapabilityError(self.tool, "archive")

    def item(self, path: str, id: str = "") -> ArchiveItem:
        """Return a transcript as an item."""
        name = os.path.relpath(path, self.home)
        return ArchiveItem(path, name, "document" if name.endswith(".json") else "log", id)

    def companion(self, name: str) -> Iterator[ArchiveItem]:
        """Yield a file that leads to transcripts, if it exists."""
        path = os.path.join(self.home, name)
        if os.path.isfile(path):
            yield ArchiveItem(path, name, "side")


def archive_source(tool: str) -> ArchiveSource:
    """Return what the archive takes from a tool."""
    found = find_tool(tool)
    kind: type[ArchiveSource] = found.load("archive") if found.archive else ArchiveSource
    return kind(found)


def walk_files(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the files below a folder, except compressed copies."""
    for entry in jsonl_transcripts.listed(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from walk_files(entry.path)
        elif os.path.isfile(entry) and not entry.name.endswith(SUFFIX):
            yield entry


def _leads_out(item: ArchiveItem, home: str, failures: Failures) -> bool:
    if item.kind == "side" or not os.path.islink(item.path):
        return False
    real = os.path.realpath(item.path)
    inside = (home, os.path.realpath(os.path.dirname(item.path)))
    if any(os.path.commonpath((folder, real)) == folder for folder in inside):
        return False
    failures[item.path] = "it is a link that leads out of the tool's folder, and is not copied"
    return True


def copy_companion(
    tool: str,
    item: ArchiveItem,
    target: str,
    known: CopyState | None,
    *,
    temp_dir: str,
    change: Change | None = None,
) -> Followed:
    """Copy a small file as `change` makes it. The copy still leads to what an older one led to."""
    mark = print_of(os.stat(item.path))
    if known and known.print == mark and os.path.exists(target):
        return Followed(known)
    data = change(read_file(item.path)) if change else read_file(item.path)
    old = read_file(target) if os.path.exists(target) else b""
    data = archive_source(tool).merge_companion(os.path.basename(target), old, data)
    if data != old:
        with storage_errors("archive into", target):
            make_private_dir(os.path.dirname(target))
            replace(target, [data], temp_dir=temp_dir)
    return Followed(CopyState(mark, len(data), len(data)), "", len(data) if data != old else 0)


def warm(item: ArchiveItem, temp_dir: str) -> str:
    """A plain copy of a file that Codex compressed, in the temp folder; "" where the program that
    unpacks it is missing. Whoever asked for it removes it."""
    import subprocess

    path = os.path.join(temp_dir, temp_name("warm"))
    source = open_file(item.path)
    found = os.fstat(source)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        done = subprocess.run(
            ["zstd", "-dcq"], stdin=source, stdout=target, stderr=subprocess.DEVNULL, check=False
        )
    except FileNotFoundError:
        os.unlink(path)
        return ""
    finally:
        os.close(source)
        os.close(target)
    if done.returncode:
        os.unlink(path)
        raise SessionStorageError(f"{item.path} cannot be unpacked", path=item.path)
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
    return path
