"""Where each tool keeps its transcripts, and whether anything there changed.

Only names and times are read. No file is opened.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cortext import paths
from cortext.durability.read_files import stat_all
from cortext.errors import reason_of
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool

if TYPE_CHECKING:  # lists need no messages
    from cortext.tools.reader_protocol import TranscriptSource


def own_home(tool: str) -> str:
    """Return the folder where a tool itself looks for its sessions."""
    return find_tool(tool).home


def archive_home(tool: str) -> str:
    """Return the folder of the archive that mirrors a tool's folder."""
    return os.path.join(paths.archive(), tool)


def home_of(tool: str, path: str) -> str | None:
    """Return the folder to open a bridge over for a transcript: the archive's, or None for the
    tool's own."""
    copy = archive_home(tool)
    return copy if path.startswith(f"{copy}/") else None


class FolderState(NamedTuple):
    """What a folder of transcripts looks like: `print` changes whenever one of them may have,
    `latest` is when one last did, in nanoseconds; `files` are what they are called, by the folders
    that they are in."""

    home: str
    print: bytes
    latest: int
    files: dict[str, list[str]]

    @property
    def names(self) -> frozenset[str]:
        """Theirs, below the folder, without what says that a copy is compressed."""
        start = len(self.home) + 1
        paths = (f"{folder}/{name}" for folder, names in self.files.items() for name in names)
        return frozenset(path[start:].removesuffix(".gz") for path in paths)


def look(tool: str, home: str) -> FolderState:
    """Look at a tool's folder as it is now. A folder that cannot be read is named in the log."""
    files: dict[str, list[str]] = {}
    marks: list[int] = []
    for folder, names in _files(find_tool(tool), home):
        if names and (there := _stat(folder, names, marks)):
            files[folder] = files.get(folder, []) + there
    if not files:
        return FolderState(home, b"", 0, files)
    parts = [part for folder, names in files.items() for part in (folder, *names)]
    print = os.fsencode("\0".join((*parts, ""))) + _packed(marks)
    return FolderState(home, print, max(marks[::3]), files)


def _packed(numbers: list[int]) -> bytes:
    try:
        return array("q", numbers).tobytes()
    except OverflowError:  # some file systems have larger inodes
        return str(numbers).encode()


def _stat(folder: str, names: list[str], marks: list[int]) -> list[str]:
    """Those of the names that are there, with a time, a size and an inode added for each."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        _passed_over(folder, error)
        return []
    found = stat_all(fd, names)
    os.close(fd)
    if -1 in found[2::3]:
        there = [at for at, inode in enumerate(found[2::3]) if inode != -1]
        names = [names[at] for at in there]
        found = [number for at in there for number in found[3 * at : 3 * at + 3]]
    marks += found
    return names


def mark_beside(tool: str, home: str) -> str:
    """Return a text that changes with the files that say more about transcripts."""
    marks: list[str] = []
    for name in find_tool(tool).companions:
        try:
            found = os.stat(os.path.join(home, name))
        except OSError:
            continue
        marks.append(f"{found.st_mtime_ns} {found.st_size}")
    return " ".join(marks)


def is_side(source: TranscriptSource) -> bool:
    """Whether a transcript is a sub-agent's although it stands among the others."""
    tool = find_tool(source.tool)
    return bool(tool.is_subagent) and tool.load("is_subagent")(source)


def _files(tool: Tool, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield folders, and the names in them that may be transcripts or say more about them."""
    yield home, [*tool.companions]
    for path in databases(tool, home):
        folder, name = os.path.split(path)
        yield folder, [name, f"{name}-wal"]
    for folder, names in transcript_folders(tool, home):
        yield folder, [name for name in names if is_transcript_name(tool, name)]


def is_transcript_name(tool: Tool, name: str) -> bool:
    """Whether a file of this name, in a folder with transcripts, may be one."""
    if tool.excluded_prefix and name.startswith(tool.excluded_prefix):
        return False
    return name.endswith(tool.endings)


def folders(tool: str, home: str) -> list[str]:
    """Return the folders that hold a tool's transcripts as files."""
    return [folder for folder, _ in transcript_folders(find_tool(tool), home)]


def transcript_folders(tool: Tool, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that hold a tool's transcripts, each with the names in it."""
    for pattern in tool.transcripts:
        yield from _matching(tool, home, pattern.split("/"))


def databases(tool: Tool, home: str) -> Iterator[str]:
    """Yield the databases that hold a tool's sessions."""
    if not tool.has_databases:
        return
    names = [name for name in _names(home) if name.startswith(tool.database_prefix)]
    given = tool.named_database if home == tool.home else ""
    for path in dict.fromkeys((*(os.path.join(home, name) for name in names), given)):
        if path.endswith(".db"):
            yield path


def _matching(tool: Tool, folder: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that a pattern means, each with the names in it."""
    if not parts:
        yield folder, _names(folder)
    elif parts[0] == "**":
        names = _names(folder)
        yield folder, names
        for name in names:
            # A link may lead back here, or to all of a disk.
            if not name.endswith(tool.endings) and not os.path.islink(f"{folder}/{name}"):
                yield from _matching(tool, f"{folder}/{name}", parts)
    elif parts[0] == "*":
        for name in _names(folder):
            yield from _matching(tool, f"{folder}/{name}", parts[1:])
    else:
        yield from _matching(tool, f"{folder}/{parts[0]}", parts[1:])


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        _passed_over(folder, error)
        return []


def _passed_over(folder: str, error: OSError) -> None:
    """Say that a folder cannot be read; one that is not there, or not any more, has nothing."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return
    warn("%s is passed over: %s", folder, reason_of(error))


def warn(text: str, *facts: object) -> None:
    """Log it. `logging` takes long to load, and few have anything to say."""
    import logging

    logging.getLogger("cortext.tools").warning(text, *facts)
