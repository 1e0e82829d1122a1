"""The folders that a user has moved, so that conversations follow their project.

AI tools record the folder in which a session took place. After a user has declared a move, the
session counts as if it took place in the new folder. The moves are in a text file, one per line,
which a user can read and edit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import msgspec

from cortext import paths
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import make_private_dir, replace, storage_errors

_SEPARATOR = "\t"
_ESCAPES = (("%", "%25"), ("\n", "%0A"), (_SEPARATOR, "%09"))


class FolderMove(msgspec.Struct, frozen=True):
    """A folder that was moved from `old` to `new`. Both are absolute paths."""

    old: str
    new: str


class MovedFolders:
    """All moves that the user has declared."""

    def __init__(self, moves: Sequence[FolderMove]) -> None:
        # If a folder and a folder in it were both moved, the longer path decides.
        self.moves: list[FolderMove] = sorted(moves, key=lambda move: (-len(move.old), move.old))

    def __bool__(self) -> bool:
        return bool(self.moves)

    def follow(self, path: str) -> str:
        """Return the path where a folder is now; the same path if it was not moved."""
        for move in self.moves:
            if not _is_below(path, move.old):
                continue
            if _is_below(move.new, move.old) and _is_below(path, move.new):
                return path  # The folder was moved into itself, and the path is already there.
            rest = path[len(move.old.rstrip("/")) :]
            return f"{move.new.rstrip('/')}{rest}" or "/"
        return path


def _is_below(path: str, folder: str) -> bool:
    """Return whether an absolute path is `folder` or below it. The path "" is below no folder."""
    return bool(path) and f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def moved_folders() -> MovedFolders:
    """Return the moves that the user has declared. There are none if the file is unreadable."""
    try:
        return MovedFolders(_read(paths.moved_folders()))
    except OSError:
        # Without the moves, lists still show each session in the folder that it names.
        return MovedFolders([])


def declare_move(old: str, new: str) -> None:
    """Record that the folder `old` is now the folder `new`.

    Earlier moves to `old` then lead to `new`. If the folder was moved from `new` to `old` before,
    the folder is back, and that move is forgotten.

    Raises SessionStorageError if the file cannot be written.
    """
    latest = FolderMove(old, new)
    following = MovedFolders([latest])

    def change(moves: list[FolderMove]) -> list[FolderMove]:
        earlier = [
            FolderMove(move.old, following.follow(move.new)) for move in moves if move.old != old
        ]
        return [move for move in (*earlier, latest) if move.old != move.new]

    _change(change)


def forget_move(old: str) -> bool:
    """Forget that the folder `old` was moved. Return whether there was such a move.

    Raises SessionStorageError if the file cannot be written.
    """
    found: list[FolderMove] = []

    def change(moves: list[FolderMove]) -> list[FolderMove]:
        found.extend(move for move in moves if move.old == old)
        return [move for move in moves if move.old != old]

    _change(change)
    return bool(found)


def _change(change: Callable[[list[FolderMove]], list[FolderMove]]) -> None:
    path = paths.moved_folders()
    with storage_errors("write", path):
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path):
            before = _read(path)
            after = change(before)
            if after != before:
                replace(path, [os.fsencode(_to_line(move)) for move in after])


def _read(path: str) -> list[FolderMove]:
    try:
        with open(path, "rb") as file:
            lines = os.fsdecode(file.read()).split("\n")
    except FileNotFoundError:
        return []
    pairs = [line.partition(_SEPARATOR) for line in lines]
    return [FolderMove(_unescape(old), _unescape(new)) for old, _, new in pairs if old and new]


def _to_line(move: FolderMove) -> str:
    return f"{_escape(move.old)}{_SEPARATOR}{_escape(move.new)}\n"


def _escape(path: str) -> str:
    for character, code in _ESCAPES:
        path = path.replace(character, code)
    return path


def _unescape(text: str) -> str:
    for character, code in reversed(_ESCAPES):
        text = text.replace(code, character)
    return text
