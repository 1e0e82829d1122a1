"""Where each tool keeps its transcripts, and whether anything there changed.

Names and times, with nothing opened: this module is imported by every list, so it imports next
to nothing.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cortext import paths
from cortext.durability.read_files import stat_all
from cortext.errors import reason_of

if TYPE_CHECKING:
    from cortext.tools.protocol import Source

TOOLS = ("claude", "opencode", "gemini", "codex")
_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".jsonl.zst", ".jsonl.zst.gz")
# Folders with transcripts, below a tool's own; "*" is any folder, "**" also those below it.
_FOLDERS = {
    "claude": ("projects/*",),
    "codex": ("sessions/**", "archived_sessions/**"),
    "gemini": ("tmp/*/chats",),
    "opencode": ("sessions", "storage/session/*", "project/*/storage/session/info"),
}
# Files that say something about transcripts which they do not say themselves.
_BESIDE = {"codex": ("session_index.jsonl",), "gemini": ("projects.json",)}


def own_home(tool: str) -> str:
    """The folder of a tool, where the tool would look for it."""
    get, person = os.environ.get, os.path.expanduser("~")
    if tool == "claude":
        return get("CLAUDE_CONFIG_DIR") or os.path.join(person, ".claude")
    if tool == "codex":
        return get("CODEX_HOME") or os.path.join(person, ".codex")
    if tool == "gemini":
        return os.path.join(get("GEMINI_CLI_HOME") or person, ".gemini")
    return os.path.join(paths.data_home(), "opencode")


def archive_home(tool: str) -> str:
    """Our copy of a tool's folder."""
    return os.path.join(paths.archive(), tool)


def home_of(tool: str, path: str) -> str | None:
    """The folder to open a bridge over for a transcript: the archive's, or None for the tool's."""
    copy = archive_home(tool)
    return copy if path.startswith(f"{copy}/") else None


class Look(NamedTuple):
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


def look(tool: str, home: str) -> Look:
    """How a tool's folder is now. One that cannot be read is named in the log."""
    files: dict[str, list[str]] = {}
    marks: list[int] = []
    for folder, names in _files(tool, home):
        if names and (there := _stat(folder, names, marks)):
            files[folder] = files.get(folder, []) + there
    if not files:
        return Look(home, b"", 0, files)
    parts = [part for folder, names in files.items() for part in (folder, *names)]
    print = os.fsencode("\0".join((*parts, ""))) + _packed(marks)
    return Look(home, print, max(marks[::3]), files)


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
    """What changes when something else is said about transcripts beside them."""
    marks: list[str] = []
    for name in _BESIDE.get(tool, ()):
        try:
            found = os.stat(os.path.join(home, name))
        except OSError:
            continue
        marks.append(f"{found.st_mtime_ns} {found.st_size}")
    return " ".join(marks)


def is_side(source: Source) -> bool:
    """Whether a transcript is a sub-agent's although it stands among the others: Codex says so
    only in its first line."""
    if source.tool != "codex" or source.path.endswith(".zst"):
        return False
    from cortext.tools import jsonl
    from cortext.tools.codex.records import Line, parent_of

    head = b""
    for most in jsonl.ENDS:
        head, end, _ = jsonl.read_head(source.path, most).partition(b"\n")
        if end or len(head) < most:
            break
    # Most say nothing of a parent, and need not be decoded to know it.
    if b"parent_thread_id" not in head:
        return False
    return any(parent_of(line.body) for _, line in jsonl.Lines(Line).read([head]))


def _files(tool: str, home: str) -> Iterator[tuple[str, list[str]]]:
    """The folders with transcripts, and what in them may be one, or says something of them."""
    yield home, [*_BESIDE.get(tool, ())]
    for path in _databases(home) if tool == "opencode" else ():
        folder, name = os.path.split(path)
        yield folder, [name, f"{name}-wal"]
    for folder, names in _folders(tool, home):
        yield folder, [n for n in names if n.endswith(_ENDINGS) and n[:6] != "agent-"]


def folders(tool: str, home: str) -> list[str]:
    """Where the transcripts of a tool are, each in a file of its own."""
    return [folder for folder, _ in _folders(tool, home)]


def _folders(tool: str, home: str) -> Iterator[tuple[str, list[str]]]:
    """The same, with the names in them."""
    for pattern in _FOLDERS[tool]:
        yield from _matching(home, pattern.split("/"))


def _databases(home: str) -> Iterator[str]:
    """Those of OpenCode; what was written last is beside them."""
    names = [name for name in _names(home) if name.startswith("opencode")]
    given = os.environ.get("OPENCODE_DB", "")
    if given and given != ":memory:" and home == own_home("opencode"):
        names.append(given)
    for name in dict.fromkeys(names):
        if name.endswith(".db"):
            yield os.path.join(home, name)


def _matching(folder: str, parts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The folders that a pattern means, each with the names in it."""
    if not parts:
        yield folder, _names(folder)
    elif parts[0] == "**":
        names = _names(folder)
        yield folder, names
        for name in names:
            # A link may lead back here, or to all of a disk.
            if not name.endswith(_ENDINGS) and not os.path.islink(f"{folder}/{name}"):
                yield from _matching(f"{folder}/{name}", parts)
    elif parts[0] == "*":
        for name in _names(folder):
            yield from _matching(f"{folder}/{name}", parts[1:])
    else:
        yield from _matching(f"{folder}/{parts[0]}", parts[1:])


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
