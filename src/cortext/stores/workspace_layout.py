"""The layout of a workspace on disk: a conversation is in `conversations/DATE/ID/.session/`.

Conversations in `TYPE/DATE/ID/` and in `conversations/TYPE/DATE/ID/` are also found. A *day* is a
folder whose name is a date. A *shelf* is a folder that contains days, such as `conversations/`. A
*place* is the path of the folder of one conversation.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

import msgspec

from cortext import clock
from cortext.builtin import TYPES
from cortext.durability.read_files import read_file
from cortext.errors import SessionStorageError, reason_of
from cortext.model.ids import check_workspace_id

_DAY = "dddd-dd-dd"
_RESERVED_NAMES = frozenset(("conversations", "resume", "stop-conversation"))


class ConversationPath(msgspec.Struct, frozen=True):
    """The path of the folder of one conversation: `{shelf}/{day}/{name}`.

    `shelf` is a path, such as the path of `conversations/`. `day` is a date, and `name` is the id.
    """

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
    """Return the path of `conversations/`, where new conversations of a workspace are created."""
    return f"{root}/conversations"


def shelves(root: str) -> list[str]:
    """Return the paths of the shelves, the folders of a workspace that may contain days.

    The first path is that of `conversations/`, even if the folder does not exist. The others are
    the existing folders of conversation types, such as `plan/`.
    """
    conversations = conversations_dir(root)
    kinds = {*TYPES, *own_types(root)}
    others = [f"{base}/{kind}" for kind in sorted(kinds) for base in (conversations, root)]
    return [conversations, *(path for path in others if os.path.isdir(path))]


def own_types(root: str) -> list[str]:
    """Return the conversation types that a workspace defines.

    Each file `.workspace/commands/TYPE.md` defines a type.
    """
    try:
        names = os.listdir(f"{root}/.workspace/commands")
    except OSError:
        return []
    return [name[:-3] for name in names if name.endswith(".md") and is_type(name[:-3])]


def is_type(name: str) -> bool:
    """Return whether a text is a valid name for a conversation type.

    A valid name has only lower-case letters, digits and hyphens, and begins with a letter. Names
    that cortext itself uses, such as `resume`, are not valid.
    """
    letters = name.replace("-", "").isascii() and name.replace("-", "").isalnum()
    return letters and name == name.lower() and name[0].isalpha() and name not in _RESERVED_NAMES


def is_day(name: str) -> bool:
    """Return whether the name of a folder has the form of a date, such as 2025-01-31."""
    shape = "".join("d" if c.isascii() and c.isdigit() else c for c in name)
    return shape == _DAY


def days(shelf: str) -> list[str]:
    """Return the names of the folders in `shelf` whose name is a date, oldest first."""
    return sorted(name for name in folders(shelf) if is_day(name))


def folders(path: str) -> list[str]:
    """Return the sorted names of the subfolders of `path`. Hidden folders are left out.

    The result is empty if `path` does not exist or is not a folder. SessionStorageError is raised
    if the folder cannot be read.
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
    """Return whether a directory entry is a folder, or a symbolic link to a folder.

    A link that leads in a circle is not a folder. A link that the user has no permission to follow
    counts as a folder, so that the caller gets an error when reading the folder.
    """
    try:
        return entry.is_dir()
    except OSError as error:
        return error.errno not in (errno.ELOOP, errno.ENAMETOOLONG)


def places(root: str) -> Iterator[ConversationPath]:
    """Yield the path of every folder in a workspace that may be a conversation.

    The paths are ordered by shelf, day and name.
    """
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
    """Return the name of the markdown file in the folder of a conversation.

    Return "" if there is no markdown file, or if the folder cannot be read.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return ""
    documents = (name for name in names if name[0] != "." and os.path.isfile(f"{folder}/{name}"))
    return next(documents, "")


def guess_start(place: ConversationPath) -> datetime:
    """Return when a conversation probably began, if no session file contains the time.

    The folder's path contains the day. If files of the conversation were last changed on that day,
    the result is the earliest of these times. Otherwise it is noon of that day. If the day is not a
    valid date, the result is the earliest time at which any of the files was changed.
    """
    now = clock.now()
    changed = [now]
    for path in (f"{place.folder}/{document_in(place.folder)}", place.lines, place.head):
        with suppress(OSError, OverflowError):
            changed.append(clock.from_micros(os.stat(path).st_mtime_ns // 1000))
    try:
        noon = datetime.fromisoformat(place.day).replace(hour=12).astimezone()
    except (ValueError, OverflowError):
        return min(changed)
    on_that_day = [time for time in changed if time.astimezone().date() == noon.date()]
    return min(on_that_day, default=min(noon, now))


def title_in(folder: str) -> str:
    """Return the title in a conversation's markdown file: the text of its first heading `# TITLE`.

    Return "" if there is no heading. OSError is raised if the markdown file cannot be read.
    """
    name = document_in(folder)
    text = read_file(f"{folder}/{name}").decode("utf-8", "replace") if name else ""
    heading = next((line for line in text.split("\n") if line.startswith("# ")), "")
    return " ".join(heading[2:].split())
