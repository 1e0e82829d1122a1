"""The files that the archive copies from a tool's folder.

The archive copies transcripts and companions. Companions are small files with facts about
transcripts, such as titles or project folders. The archive has the same layout as the tool's
folder, so the same reader class reads both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from cortext.durability.durable_files import make_private_dir, replace, storage_errors, temp_name
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.incremental_copy import CopyState, CopyUpdate, stat_fingerprint
from cortext.durability.read_files import open_file, read_file
from cortext.errors import SessionStorageError
from cortext.tools import jsonl_transcripts
from cortext.tools.descriptor import MissingCapabilityError, Tool
from cortext.tools.registry import find_tool
from cortext.tools.transcript_folders import is_transcript_name, transcript_folders


class ArchiveItem(msgspec.Struct, frozen=True):
    """A file or a database session that the archive copies from a tool.

    `path` is the path of the file or the database. `name` is the path of the copy, relative to the
    tool's folder in the archive. If the copy is compressed, its ending `.gz` is not part of `name`.
    `id` is the session's id if it is known without reading the file, otherwise "". `kind` is one
    of:

    - "log": a file that grows.
    - "document": a file that the tool rewrites as a whole.
    - "cold": a file that the tool itself compressed.
    - "side": a companion file, which holds facts about transcripts.
    - "rows": a session in a database.

    `print` is a fingerprint that changes with a database session. For files, it is "".
    """

    path: str
    name: str
    kind: str
    id: str = ""
    print: str = ""


Failures = dict[str, str]
"""The paths that could not be read, each with the reason."""
Change = Callable[[bytes], bytes]
"""A function that changes content before the archive stores it, for example redacts secrets."""


class ArchiveSource:
    """The files and database sessions of one tool that the archive copies.

    This class is for tools that store sessions as files in the folders of `Tool.transcripts`.
    A tool that stores sessions in another way needs a subclass.
    """

    moves_transcripts: bool = False
    """Whether the tool moves transcripts to other folders, or continues a session in a new file."""

    titles_file: str = ""
    """The name of the companion file that contains the titles of sessions, or "".

    Titles may contain secrets.
    """

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.home: str = tool.home

    def items(self, failures: Failures) -> Iterator[ArchiveItem]:
        """Yield the files and database sessions that the archive copies.

        Transcripts that are links to files outside the tool's folder are skipped and added to
        `failures`.
        """
        home = os.path.realpath(self.home)
        return (item for item in self.files() if not _is_outside_link(item, home, failures))

    def files(self) -> Iterator[ArchiveItem]:
        """Yield the existing companions and transcripts, including links that `items` skips."""
        for name in self.tool.companions:
            yield from self.companion(name)
        for folder, names in transcript_folders(self.tool, self.home):
            for name in names:
                path = os.path.join(folder, name)
                if is_transcript_name(self.tool, name) and os.path.isfile(path):
                    yield self.item(path)

    def merge_companion(self, name: str, old: bytes, new: bytes) -> bytes:
        """Return the bytes to archive for the companion file `name`.

        `old` holds the bytes of the archived copy, or b"" if there is no copy. `new` holds the
        bytes of the tool's current file. This class returns `new`. A subclass can also keep entries
        that the tool has removed from its file.
        """
        return new

    def copy_name(self, session_id: str) -> str:
        """Return the path of a database session's copy, relative to the tool's archive folder.

        The result is "" if the tool stores sessions as files.
        """
        return ""

    def copy_rows(
        self,
        item: ArchiveItem,
        target: str,
        known: CopyState | None,
        *,
        temp_dir: str,
        change: Change | None,
    ) -> CopyUpdate:
        """Append the new rows of a database session to its copy, and return the copy's new state.

        `target` is the path of the copy. `known` is the state of the copy after its last update, or
        None if there is no copy. `change` is a function that changes the bytes of each row before
        they are stored, or None. Temporary files are created in the folder `temp_dir`.
        """
        raise MissingCapabilityError(self.tool, "archive")

    def read_rows(self, path: str, session_id: str) -> list[bytes]:
        """Return the rows of a session in the database at `path`.

        Each row is returned as a line in the format of an archived copy.
        """
        raise MissingCapabilityError(self.tool, "archive")

    def item(self, path: str, id: str = "") -> ArchiveItem:
        """Return the archive item for the transcript at `path`, which belongs to the session `id`.

        The kind of the item is "document" for a `.json` file, otherwise "log".
        """
        name = os.path.relpath(path, self.home)
        return ArchiveItem(path, name, "document" if name.endswith(".json") else "log", id)

    def companion(self, name: str) -> Iterator[ArchiveItem]:
        """Yield the archive item for the companion file `name`, or nothing if it does not exist."""
        path = os.path.join(self.home, name)
        if os.path.isfile(path):
            yield ArchiveItem(path, name, "side")


def archive_source(tool: str) -> ArchiveSource:
    """Return the object that selects which files of a tool the archive copies."""
    descriptor = find_tool(tool)
    kind: type[ArchiveSource] = descriptor.load("archive") if descriptor.archive else ArchiveSource
    return kind(descriptor)


def walk_files(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the files below a folder, except the compressed copies that the archive makes."""
    for entry in jsonl_transcripts.listed(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from walk_files(entry.path)
        elif os.path.isfile(entry) and not entry.name.endswith(SUFFIX):
            yield entry


def _is_outside_link(item: ArchiveItem, home: str, failures: Failures) -> bool:
    if item.kind == "side" or not os.path.islink(item.path):
        return False
    real = os.path.realpath(item.path)
    inside = (home, os.path.realpath(os.path.dirname(item.path)))
    if any(os.path.commonpath((folder, real)) == folder for folder in inside):
        return False
    failures[item.path] = "not copied, because it is a link to a path outside the tool's folder"
    return True


def copy_companion(
    tool: str,
    item: ArchiveItem,
    target: str,
    known: CopyState | None,
    *,
    temp_dir: str,
    change: Change | None = None,
) -> CopyUpdate:
    """Copy a companion file of a tool to the path `target`, and return the copy's new state.

    `known` is the state of the copy after its last update, or None. If the companion file has not
    changed since that update, it is not copied again. `change` is a function that changes the
    content before it is stored, or None. `ArchiveSource.merge_companion` decides which older
    entries the copy keeps. Temporary files are created in the folder `temp_dir`.
    """
    fingerprint = stat_fingerprint(os.stat(item.path))
    if known and known.print == fingerprint and os.path.exists(target):
        return CopyUpdate(known)
    data = change(read_file(item.path)) if change else read_file(item.path)
    old = read_file(target) if os.path.exists(target) else b""
    data = archive_source(tool).merge_companion(os.path.basename(target), old, data)
    if data != old:
        with storage_errors("archive into", target):
            make_private_dir(os.path.dirname(target))
            replace(target, [data], temp_dir=temp_dir)
    return CopyUpdate(
        CopyState(fingerprint, len(data), len(data)), "", len(data) if data != old else 0
    )


def warm(item: ArchiveItem, temp_dir: str) -> str:
    """Decompress a file that Codex compressed, and return the path of the new file.

    The new file is in `temp_dir`, and the caller must delete it. The result is "" if the program
    `zstd` is not installed. Raises SessionStorageError if the file cannot be decompressed.
    """
    import subprocess

    path = os.path.join(temp_dir, temp_name("warm"))
    source = open_file(item.path)
    stat = os.fstat(source)
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
        raise SessionStorageError(f"could not unpack {item.path}", path=item.path)
    os.utime(path, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
    return path
