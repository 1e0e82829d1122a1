"""The folders where each tool stores its transcripts, and a check whether they changed.

This module reads only the names, times, sizes and inodes of files. It opens no transcript.
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

if TYPE_CHECKING:  # needed only for types: a list runs faster without this import
    from cortext.tools.reader_protocol import TranscriptSource


def own_home(tool: str) -> str:
    """Return the folder where a tool stores its sessions."""
    return find_tool(tool).home


def archive_home(tool: str) -> str:
    """Return the folder in the archive that holds the copy of a tool's folder."""
    return os.path.join(paths.archive(), tool)


def home_of(tool: str, path: str) -> str | None:
    """Return the `home` to pass to `open_bridge`, to read the transcript at `path`.

    This is the tool's folder in the archive if that contains `path`. Otherwise the result is None,
    which means the tool's own folder.
    """
    copy = archive_home(tool)
    return copy if path.startswith(f"{copy}/") else None


class FolderState(NamedTuple):
    """The state of the transcripts in a tool's folder, `home`.

    `print` is a fingerprint that changes when a transcript may have changed. It is empty if there
    are no files. `latest` is the newest modification time, in nanoseconds. `files` maps each
    subfolder to the names of its files.
    """

    home: str
    print: bytes
    latest: int
    files: dict[str, list[str]]

    @property
    def names(self) -> frozenset[str]:
        """The paths of the files relative to `home`, without the `.gz` of compressed copies."""
        start = len(self.home) + 1
        paths = (f"{folder}/{name}" for folder, names in self.files.items() for name in names)
        return frozenset(path[start:].removesuffix(".gz") for path in paths)


def look(tool: str, home: str) -> FolderState:
    """Return the current state of the transcripts in a tool's folder, or in a copy of it.

    Unreadable subfolders are logged and left out.
    """
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
    except OverflowError:  # some file systems have inode numbers above 63 bits
        return str(numbers).encode()


def _stat(folder: str, names: list[str], marks: list[int]) -> list[str]:
    """Return the names of existing files, and append their times, sizes and inodes to `marks`."""
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
    """Return a fingerprint of a tool's companion files, such as its index of titles."""
    marks: list[str] = []
    for name in find_tool(tool).companions:
        try:
            found = os.stat(os.path.join(home, name))
        except OSError:
            continue
        marks.append(f"{found.st_mtime_ns} {found.st_size}")
    return " ".join(marks)


def is_side(source: TranscriptSource) -> bool:
    """Return whether a transcript belongs to a sub-agent.

    This matters for tools that store sub-agents among the conversations of the user.
    """
    tool = find_tool(source.tool)
    return bool(tool.is_subagent) and tool.load("is_subagent")(source)


def _files(tool: Tool, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield folders, each with the names of its transcripts, databases or companion files."""
    yield home, [*tool.companions]
    for path in databases(tool, home):
        folder, name = os.path.split(path)
        yield folder, [name, f"{name}-wal"]
    for folder, names in transcript_folders(tool, home):
        yield folder, [name for name in names if is_transcript_name(tool, name)]


def is_transcript_name(tool: Tool, name: str) -> bool:
    """Return whether a file with this name, in a folder of transcripts, may be a transcript."""
    if tool.excluded_prefix and name.startswith(tool.excluded_prefix):
        return False
    return name.endswith(tool.endings)


def folders(tool: str, home: str) -> list[str]:
    """Return the folders that hold a tool's transcripts as files."""
    return [folder for folder, _ in transcript_folders(find_tool(tool), home)]


def transcript_folders(tool: Tool, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that hold a tool's transcripts, each with the names of its files."""
    for pattern in tool.transcripts:
        yield from _matching(tool, home, pattern.split("/"))


def databases(tool: Tool, home: str) -> Iterator[str]:
    """Yield the paths of the databases that hold a tool's sessions."""
    if not tool.has_databases:
        return
    names = [name for name in _names(home) if name.startswith(tool.database_prefix)]
    given = tool.named_database if home == tool.home else ""
    for path in dict.fromkeys((*(os.path.join(home, name) for name in names), given)):
        if path.endswith(".db"):
            yield path


def _matching(tool: Tool, folder: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that match a path pattern, each with the names of its files."""
    if not parts:
        yield folder, _names(folder)
    elif parts[0] == "**":
        names = _names(folder)
        yield folder, names
        for name in names:
            # Skip links: a link may lead to a parent folder, or to a whole disk.
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
    """Log that a folder cannot be read. A missing folder is not logged."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return
    warn("%s is passed over: %s", folder, reason_of(error))


def warn(text: str, *facts: object) -> None:
    """Log a warning. The arguments are those of `Logger.warning`.

    `logging` is imported only when needed, because the import is slow.
    """
    import logging

    logging.getLogger("cortext.tools").warning(text, *facts)
