"""The archive: compressed copies of the tools' transcripts, and the saved state of each copy."""

from __future__ import annotations

import logging
import os

import msgspec

from cortext import paths
from cortext.durability.gzip_members import SUFFIX, Packed
from cortext.durability.incremental_copy import CopyState
from cortext.durability.read_files import open_file, read_file
from cortext.durability.replace_file import make_private_dir, replace
from cortext.model import json_codec
from cortext.tools.registry import tool_names

_log = logging.getLogger("cortext.archive")


def folder_of(tool: str) -> str:
    """Return the folder of the archive for the copies of a tool's transcripts."""
    return os.path.join(paths.archive(), tool)


def temp_dir() -> str:
    """Return the folder of the archive for temp files: a copy is written there, then renamed."""
    return os.path.join(paths.archive(), ".temp")


class Memory:
    """The saved states of one tool's copies in the archive, by the names of the copies.

    A state says how much of a transcript is copied. The states only save time: without them, a
    sync decompresses the copies and compares them.
    """

    def __init__(self, tool: str) -> None:
        self._path = os.path.join(paths.archive(), ".known", f"{tool}.json")
        self.copies: dict[str, CopyState] = {}
        self.changed: bool = False
        try:
            self.copies = msgspec.json.decode(read_file(self._path), type=dict[str, CopyState])
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.info("%s is made anew: %s", self._path, error)

    def put(self, name: str, known: CopyState) -> None:
        if self.copies.get(name) != known:
            self.copies[name], self.changed = known, True

    def move(self, old: str, new: str) -> None:
        self.copies[new], self.changed = self.copies.pop(old), True

    def save(self) -> None:
        """Write changed states to disk. On failure, raise OSError and leave the file as it was."""
        if self.changed:
            make_private_dir(os.path.dirname(self._path))
            replace(self._path, [json_codec.encode(self.copies)])
            self.changed = False


class Size(msgspec.Struct):
    """The size of one tool's copies in the archive.

    `copies` is their number, `sources` their uncompressed and `packed` their compressed size in
    bytes.
    """

    tool: str
    copies: int = 0
    sources: int = 0
    packed: int = 0


def sizes() -> list[Size]:
    """Return the size of the archive for each tool that has copies in it."""
    found: list[Size] = []
    for tool in tool_names():
        size, known = Size(tool), Memory(tool).copies
        for folder, _, names in os.walk(folder_of(tool)):
            for name in names:
                if name.endswith(SUFFIX) and ".~" not in name:
                    path = os.path.join(folder, name)
                    one = known.get(os.path.relpath(path, folder_of(tool))[: -len(SUFFIX)])
                    length, packed = (one.length, one.packed) if one else _lengths(path)
                    size.copies += 1
                    size.sources += length
                    size.packed += packed
        if size.copies:
            found.append(size)
    return found


def _lengths(path: str) -> tuple[int, int]:
    """Return the uncompressed and the compressed size of a copy; 0, 0 if it cannot be read.

    `cortext doctor` reports copies that cannot be read.
    """
    try:
        fd = open_file(path)
    except OSError:
        return 0, 0
    try:
        return Packed(fd).size, os.fstat(fd).st_size
    finally:
        os.close(fd)
