"""The archive: compressed copies of the tools' transcripts, and the saved state of each copy."""

from __future__ import annotations

import logging
import os

import msgspec

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace
from cortext.durability.gzip_members import SUFFIX, Packed
from cortext.durability.incremental_copy import CopyState
from cortext.durability.read_files import open_file, read_file
from cortext.model import json_codec
from cortext.tools.registry import tool_names

_log = logging.getLogger("cortext.archive")


def folder_of(tool: str) -> str:
    """Return the archive's folder for the copies of a tool's transcripts."""
    return os.path.join(paths.archive(), tool)


def temp_dir() -> str:
    """Return the archive's folder for temp files.

    A new copy of a transcript is first written to this folder, and then renamed to its final path.
    """
    return os.path.join(paths.archive(), ".temp")


class Memory:
    """The saved states of one tool's copies in the archive.

    `copies` maps the name of each copy to its state. A state says how much of the transcript is in
    the copy. States only save time: without the state of a copy, the next update of the archive
    must decompress the copy and compare it with the transcript.
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
            _log.info("%s is rebuilt: %s", self._path, error)

    def put(self, name: str, known: CopyState) -> None:
        if self.copies.get(name) != known:
            self.copies[name], self.changed = known, True

    def move(self, old: str, new: str) -> None:
        self.copies[new], self.changed = self.copies.pop(old), True

    def save(self) -> None:
        """Write changed states to disk. If that fails, raise OSError and keep the old file."""
        if self.changed:
            make_private_dir(os.path.dirname(self._path))
            replace(self._path, [json_codec.encode(self.copies)])
            self.changed = False


class Size(msgspec.Struct):
    """The size of one tool's copies in the archive.

    `copies` is the number of copies. `sources` is their uncompressed size, and `packed` is their
    compressed size, in bytes.
    """

    tool: str
    copies: int = 0
    sources: int = 0
    packed: int = 0


def sizes() -> list[Size]:
    """Return the size of the archive for each tool that has copies in it."""
    result: list[Size] = []
    for tool in tool_names():
        size, states = Size(tool), Memory(tool).copies
        for folder, _, names in os.walk(folder_of(tool)):
            for name in names:
                if name.endswith(SUFFIX) and ".~" not in name:
                    path = os.path.join(folder, name)
                    state = states.get(os.path.relpath(path, folder_of(tool))[: -len(SUFFIX)])
                    length, packed = (state.length, state.packed) if state else _measure_copy(path)
                    size.copies += 1
                    size.sources += length
                    size.packed += packed
        if size.copies:
            result.append(size)
    return result


def _measure_copy(path: str) -> tuple[int, int]:
    """Return the uncompressed and the compressed size of a copy in bytes.

    Both are 0 if the copy cannot be read. `cortext doctor` reports such copies.
    """
    try:
        fd = open_file(path)
    except OSError:
        return 0, 0
    try:
        return Packed(fd).size, os.fstat(fd).st_size
    finally:
        os.close(fd)
