"""The archive: our copies of the tools' transcripts, and what is remembered of them."""

from __future__ import annotations

import logging
import os

import msgspec

from cortext import paths
from cortext.bridges.places import TOOLS
from cortext.durability.follow import Known
from cortext.durability.packed import SUFFIX
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, replace
from cortext.model import json

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
        self.copies: dict[str, Known] = {}
        self.changed: bool = False
        try:
            self.copies = msgspec.json.decode(read_file(self._path), type=dict[str, Known])
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.info("%s is made anew: %s", self._path, error)

    def put(self, name: str, known: Known) -> None:
        if self.copies.get(name) != known:
            self.copies[name], self.changed = known, True

    def move(self, old: str, new: str) -> None:
        self.copies[new], self.changed = self.copies.pop(old), True

    def save(self) -> None:
        """OSError; then it is as before."""
        if self.changed:
            make_private_dir(os.path.dirname(self._path))
            replace(self._path, [json.encode(self.copies)])
            self.changed = False


class Size(msgspec.Struct):
    """How much is kept of one tool: copies, the bytes that they stand for, and their own."""

    tool: str
    copies: int = 0
    sources: int = 0
    packed: int = 0


def sizes() -> list[Size]:
    """What the archive takes, tool by tool; tools with nothing in it are left out."""
    found: list[Size] = []
    for tool in TOOLS:
        size = Size(tool)
        for name, known in Memory(tool).copies.items():
            if known.packed and os.path.exists(os.path.join(folder_of(tool), name) + SUFFIX):
                size.copies += 1
                size.sources += known.length
                size.packed += known.packed
        if size.copies:
            found.append(size)
    return found
