"""The folders where each AI tool stores its transcripts, and a check whether they changed.

A transcript is a tool's own file of one session. This module reads only the names, times, sizes and
inodes of files. It opens no transcript.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from cortext import paths
from cortext.durability.read_files import stat_all
from cortext.errors import reason_of
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool

if TYPE_CHECKING:  # needed only for types; `cortext list` is faster without it
    from cortext.tools.reader_protocol import TranscriptSource


def own_home(tool: str) -> str:
    """Return the folder where a tool itself stores its sessions, not the copy in the archive."""
    return find_tool(tool).home


def archive_home(tool: str) -> str:
    """Return the folder in the archive that holds the copy of a tool's folder."""
    return os.path.join(paths.archive(), tool)


def home_of(tool: str, path: str) -> str | None:
    """Return the folder that a bridge needs as `home` to read the transcript at `path`.

    The result is the tool's folder in the archive if `path` is in that folder. Otherwise it is
    None, which stands for the tool's own folder.
    """
    copy = archive_home(tool)
    return copy if path.startswith(f"{copy}/") else None


class FolderState(msgspec.Struct, frozen=True):
    """The state of the files in a tool's folder: transcripts, databases and companion files.

    `home` is the folder. `print` is a fingerprint that changes when a file may have changed, or b""
    if there are no files. `latest` is the newest modification time in nanoseconds. `files` maps the
    path of each folder to the names of its files.
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
    """Return the current state of a tool's files in the folder `home`.

    `home` is the tool's own folder, or the copy of that folder in the archive. Unreadable
    subfolders are logged and left out.
    """
    files: dict[str, list[str]] = {}
    marks: list[int] = []
    for folder, names in _files(find_tool(tool), home):
        if names and (existing := _stat(folder, names, marks)):
            files[folder] = files.get(folder, []) + existing
    if not files:
        return FolderState(home, b"", 0, files)
    parts = [part for folder, names in files.items() for part in (folder, *names)]
    fingerprint = os.fsencode("\0".join((*parts, ""))) + _pack(marks)
    return FolderState(home, fingerprint, max(marks[::3]), files)


def _pack(numbers: list[int]) -> bytes:
    try:
        return array("q", numbers).tobytes()
    except OverflowError:  # some file systems have inode numbers above 63 bits
        return str(numbers).encode()


def _stat(folder: str, names: list[str], marks: list[int]) -> list[str]:
    """Return the names of the files in `names` that exist in `folder`.

    The modification time, size and inode of each of these files are appended to `marks`.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        _log_skipped(folder, error)
        return []
    numbers = stat_all(fd, names)
    os.close(fd)
    if -1 in numbers[2::3]:
        existing = [at for at, inode in enumerate(numbers[2::3]) if inode != -1]
        names = [names[at] for at in existing]
        numbers = [number for at in existing for number in numbers[3 * at : 3 * at + 3]]
    marks += numbers
    return names


def companions_fingerprint(tool: str, home: str) -> str:
    """Return a fingerprint that changes when a companion file of a tool changes.

    Companion files hold facts about transcripts, for example their titles.
    """
    marks: list[str] = []
    for name in find_tool(tool).companions:
        try:
            stat = os.stat(os.path.join(home, name))
        except OSError:
            continue
        marks.append(f"{stat.st_mtime_ns} {stat.st_size}")
    return " ".join(marks)


def is_side(source: TranscriptSource) -> bool:
    """Return whether a transcript is that of a sub-agent, not of a conversation with the user.

    Only some tools store both kinds in the same folder. For other tools, the result is False.
    """
    tool = find_tool(source.tool)
    return bool(tool.is_subagent) and tool.load("is_subagent")(source)


def _files(tool: Tool, home: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder with session data, and the names of the files that hold the data.

    These files are transcripts, databases and companion files. Some of them may not exist.
    """
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
        yield from _match_folders(tool, home, pattern.split("/"))


def databases(tool: Tool, home: str) -> Iterator[str]:
    """Yield the paths of the databases that hold a tool's sessions."""
    if not tool.has_databases:
        return
    names = [name for name in _names(home) if name.startswith(tool.database_prefix)]
    given = tool.named_database if home == tool.home else ""
    for path in dict.fromkeys((*(os.path.join(home, name) for name in names), given)):
        if path.endswith(".db"):
            yield path


def _match_folders(tool: Tool, folder: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that match a path pattern, each with the names of its entries.

    `folder` is the folder in which the search begins. `parts` holds the parts of the pattern,
    relative to `folder`. A part is a name, `*` for any name, or `**` for subfolders of any depth.
    """
    if not parts:
        yield folder, _names(folder)
    elif parts[0] == "**":
        names = _names(folder)
        yield folder, names
        for name in names:
            # Skip links: a link may lead to a parent folder, or to a whole disk.
            if not name.endswith(tool.endings) and not os.path.islink(f"{folder}/{name}"):
                yield from _match_folders(tool, f"{folder}/{name}", parts)
    elif parts[0] == "*":
        for name in _names(folder):
            yield from _match_folders(tool, f"{folder}/{name}", parts[1:])
    else:
        yield from _match_folders(tool, f"{folder}/{parts[0]}", parts[1:])


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        _log_skipped(folder, error)
        return []


def _log_skipped(folder: str, error: OSError) -> None:
    """Log that a folder cannot be read. A missing folder is not logged."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return
    warn("skipped %s: %s", folder, reason_of(error))


def warn(text: str, *facts: object) -> None:
    """Log a warning. The arguments are those of `Logger.warning`.

    `logging` is imported only when needed, because the import is slow.
    """
    import logging

    logging.getLogger("cortext.tools").warning(text, *facts)
