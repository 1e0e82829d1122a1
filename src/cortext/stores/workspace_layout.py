"""Where the conversations of a workspace are: `conversations/DATE/ID/.session/`.

Also read: `TYPE/DATE/ID/` below the workspace or below `conversations/`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import NamedTuple

from cortext.builtin import TYPES
from cortext.durability.read_files import read_file
from cortext.errors import SessionStorageError, reason_of
from cortext.model.ids import check_workspace_id

_DAY = "dddd-dd-dd"
_NO_TYPES = frozenset(("conversations", "resume", "stop-conversation"))


class ConversationPath(NamedTuple):
    """Where one conversation is; `shelf` is the folder that holds its day."""

    shelf: str
    day: str
    name: str

    @property
    def folder(self) -> str:
        return f"{self.shelf}/{self.day}/{self.name}"

    @property
    def session(self) -> str:
        return f"{self.folder}/.session"

    @property
    def head(self) -> str:
        return f"{self.session}/session.json"

    @property
    def lines(self) -> str:
        return f"{self.session}/messages.jsonl"

    @property
    def has_session(self) -> bool:
        return os.path.lexists(self.head) or os.path.lexists(self.lines)


def conversations_dir(root: str) -> str:
    """Where new conversations go."""
    return f"{root}/conversations"


def shelves(root: str) -> list[str]:
    """The folders of a workspace that hold days: the one that we write to first."""
    usual = conversations_dir(root)
    kinds = {*TYPES, *own_types(root)}
    others = [f"{base}/{kind}" for kind in sorted(kinds) for base in (usual, root)]
    return [usual, *(path for path in others if os.path.isdir(path))]


def own_types(root: str) -> list[str]:
    """The types that a workspace has command files for."""
    try:
        names = os.listdir(f"{root}/.workspace/commands")
    except OSError:
        return []
    return [name[:-3] for name in names if name.endswith(".md") and is_type(name[:-3])]


def is_type(name: str) -> bool:
    """Whether a name can be a type's: it is part of file names, and of a command's."""
    letters = name.replace("-", "").isascii() and name.replace("-", "").isalnum()
    return letters and name == name.lower() and name[0].isalpha() and name not in _NO_TYPES


def is_day(name: str) -> bool:
    """Whether a folder's name is a date; `conversations` holds others too."""
    shape = "".join("d" if c.isascii() and c.isdigit() else c for c in name)
    return shape == _DAY


def days(shelf: str) -> list[str]:
    """The days of a shelf, sorted."""
    return sorted(name for name in folders(shelf) if is_day(name))


def folders(path: str) -> list[str]:
    """The names of the folders in a folder; hidden ones are not ours to look at."""
    try:
        with os.scandir(path) as entries:
            return sorted(e.name for e in entries if not e.name.startswith(".") and is_folder(e))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SessionStorageError(
            f"could not read {path}: {reason_of(error)}",
            path=path,
            errno=error.errno,
        ) from error


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or leads to one. A link in a circle is none; one that nobody
    lets us follow may be, and whoever reads it says so."""
    try:
        return entry.is_dir()
    except OSError as error:
        return error.errno not in (errno.ELOOP, errno.ENAMETOOLONG)


def places(root: str) -> Iterator[ConversationPath]:
    """Every folder that may be a conversation's, by shelf, day and name."""
    for shelf in shelves(root):
        for day in days(shelf):
            for name in folders(f"{shelf}/{day}"):
                yield ConversationPath(shelf, day, name)


def is_name(name: str) -> bool:
    """Whether a folder's name can be a conversation's id."""
    try:
        check_workspace_id(f"0000-00-00/{name}")
    except ValueError:
        return False
    return True


def document_in(folder: str) -> str:
    """The name of the markdown in a conversation's folder; "" without one, or with no folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return ""
    found = (name for name in names if name[0] != "." and os.path.isfile(f"{folder}/{name}"))
    return next(found, "")


def title_in(folder: str) -> str:
    """The title in the markdown of a conversation; "" without one. OSError if it cannot be
    read."""
    name = document_in(folder)
    text = read_file(f"{folder}/{name}").decode("utf-8", "replace") if name else ""
    heading = next((line for line in text.split("\n") if line.startswith("# ")), "")
    return " ".join(heading[2:].split())
