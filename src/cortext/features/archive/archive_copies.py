"""The archive: our copies of the tools' transcripts, and what is remembered of them."""

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
    """The mirror of one tool's folder."""
    return os.path.join(paths.archive(), tool)


def temp_dir() -> str:
    """Where copies are written before they get their names."""
    return os.path.join(paths.archive(), ".temp")


class Memory:
    """What is known of the copies of one tool, by their names. It is only remembered to save
    time: without it, copies are unpacked and compared."""

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
        """OSError; then it is as before."""
        if self.changed:
            make_private_dir(os.path.dirname(self._path))
            replace(self._path, [json_codec.encode(self.copies)])
            self.changed = False


class Size(msgspec.Struct):
    """How much is kept of one tool: copies, the bytes that they stand for, and their own."""

    tool: str
    copies: int = 0
    sources: int = 0
    packed: int = 0


def sizes() -> list[Size]:
    """What the archive takes, tool by tool; tools with nothing in it are left out. A copy is one
    whether it is remembered or not."""
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
    """How much a copy holds, and how long it is; nothing of one that cannot be read, which is for
    doctor to name."""
    try:
        fd = open_file(path)
    except OSError:
        return 0, 0
    try:
        return Packed(fd).size, os.fstat(fd).st_size
    finally:
        os.close(fd)
