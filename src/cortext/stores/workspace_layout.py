"""The folders of a workspace: a conversation is in `conversations/DATE/ID/.session/`.

Conversations in `TYPE/DATE/ID/`, below the workspace or below `conversations/`, are read as well. A
*day* is a folder named by a date. A *shelf* is a folder that holds days, such as `conversations/`.
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
    """The place of one conversation. `shelf` is the folder that holds its day."""

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
    """Return the folder for new conversations of a workspace."""
    return f"{root}/conversations"


def shelves(root: str) -> list[str]:
    """Return the shelves of a workspace. The folder for new conversations is first."""
    usual = conversations_dir(root)
    kinds = {*TYPES, *own_types(root)}
    others = [f"{base}/{kind}" for kind in sorted(kinds) for base in (usual, root)]
    return [usual, *(path for path in others if os.path.isdir(path))]


def own_types(root: str) -> list[str]:
    """Return the conversation types for which a workspace has command files."""
    try:
        names = os.listdir(f"{root}/.workspace/commands")
    except OSError:
        return []
    return [name[:-3] for name in names if name.endswith(".md") and is_type(name[:-3])]


def is_type(name: str) -> bool:
    """Return whether a name can name a conversation type.

    The name of a type is part of file names and of a command's name.
    """
    letters = name.replace("-", "").isascii() and name.replace("-", "").isalnum()
    return letters and name == name.lower() and name[0].isalpha() and name not in _NO_TYPES


def is_day(name: str) -> bool:
    """Return whether the name of a folder is a date. `conversations` also holds other folders."""
    shape = "".join("d" if c.isascii() and c.isdigit() else c for c in name)
    return shape == _DAY


def days(shelf: str) -> list[str]:
    """Return the names of the days in a shelf, sorted."""
    return sorted(name for name in folders(shelf) if is_day(name))


def folders(path: str) -> list[str]:
    """Return the names of the folders in a folder, sorted and without hidden ones.

    A path that is missing or not a folder has none. Any other failure raises SessionStorageError.
    """
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
    """Return whether an entry is a folder or a link to one.

    A link that leads in a circle is not a folder. A link that may not be followed counts as a
    folder, so that the caller that reads it reports the error.
    """
    try:
        return entry.is_dir()
    except OSError as error:
        return error.errno not in (errno.ELOOP, errno.ENAMETOOLONG)


def places(root: str) -> Iterator[ConversationPath]:
    """Yield every folder that may be a conversation, ordered by shelf, day and name."""
    for shelf in shelves(root):
        for day in days(shelf):
            for name in folders(f"{shelf}/{day}"):
                yield ConversationPath(shelf, day, name)


def is_name(name: str) -> bool:
    """Return whether the name of a folder can be the id of a conversation."""
    try:
        check_workspace_id(f"0000-00-00/{name}")
    except ValueError:
        return False
    return True


def document_in(folder: str) -> str:
    """Return the name of the markdown file in a conversation's folder.

    Return "" if there is no markdown file or no folder.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return ""
    found = (name for name in names if name[0] != "." and os.path.isfile(f"{folder}/{name}"))
    return next(found, "")


def title_in(folder: str) -> str:
    """Return the title in a conversation's markdown, or "" if there is none.

    OSError is raised if the markdown cannot be read.
    """
    name = document_in(folder)
    text = read_file(f"{folder}/{name}").decode("utf-8", "replace") if name else ""
    heading = next((line for line in text.split("\n") if line.startswith("# ")), "")
    return " ".join(heading[2:].split())
