"""The folders that a user has moved, so that conversations follow their project.

AI tools record the folder in which a session took place. After a user has declared a move, each
session that began before the move counts as if it took place in the new folder. Later sessions in
the old folder stay there, because somebody created that folder again. The moves are in a text file,
one per line, which a user can read and edit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec
from msgspec import structs

from cortext import clock, paths
from cortext.catalog.rebuildable_database import micros
from cortext.durability.durable_files import make_private_dir, replace, storage_errors
from cortext.durability.file_lock import FileLock

_SEPARATOR = "\t"
_ESCAPES = (("%", "%25"), ("\n", "%0A"), (_SEPARATOR, "%09"))


class FolderMove(msgspec.Struct, frozen=True):
    """A folder that was moved from `old` to `new`. Both are absolute paths.

    `since` is the time of the move, in microseconds since 1970. The move counts only for sessions
    that began before this time. If `since` is None, it counts for all sessions.
    """

    old: str
    new: str
    since: int | None = None

    def applies_to(self, began: int | None) -> bool:
        """Return whether the move counts for a session that began at the time `began`.

        `began` is in microseconds since 1970. If `began` is None (unknown), the move counts.
        """
        return not (self.since and began) or began < self.since


class MovedFolders:
    """All moves that the user has declared."""

    def __init__(self, moves: Sequence[FolderMove]) -> None:
        # If a folder and a folder in it were both moved, the longer path decides.
        self.moves: list[FolderMove] = sorted(moves, key=lambda move: (-len(move.old), move.old))

    def __bool__(self) -> bool:
        return bool(self.moves)

    def follow(self, path: str, began: int | None = None) -> str:
        """Return where the folder `path` of a session is now. Return `path` if it did not move.

        `began` is the start of the session in microseconds since 1970. If `began` is None
        (unknown), every move counts.
        """
        for move in self.moves:
            if not (_is_below(path, move.old) and move.applies_to(began)):
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
    """Return the moves that the user has declared.

    If the file of the moves is missing or cannot be read, the result has no moves.
    """
    try:
        return MovedFolders(_read(paths.moved_folders()))
    except OSError:
        # Without the moves, lists still show each session in the folder that it names.
        return MovedFolders([])


def declare_move(old: str, new: str, since: int | None = None) -> None:
    """Record that the user has moved the folder `old` to `new`.

    `since` is the time of the move, in microseconds since 1970. The move counts only for sessions
    that began before this time. If `since` is None, it counts for all sessions.

    Earlier moves to `old` are changed, so that they lead to `new`. If this is a move back to an
    earlier place, the earlier move is forgotten.

    Raises SessionStorageError if the file of the moves cannot be written.
    """
    latest = FolderMove(old, new, since)
    following = MovedFolders([latest])

    def change(moves: list[FolderMove]) -> list[FolderMove]:
        earlier = [
            structs.replace(move, new=following.follow(move.new))
            for move in moves
            if move.old != old
        ]
        return [move for move in (*earlier, latest) if move.old != move.new]

    _change(change)


def forget_move(old: str) -> bool:
    """Forget that the folder `old` was moved. Return False if no such move was declared.

    Raises SessionStorageError if the file of the moves cannot be written.
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
    fields = [line.split(_SEPARATOR) for line in lines]
    return [
        FolderMove(_unescape(old), _unescape(new), _parse_since(rest[0]) if rest else None)
        for old, new, *rest in (each for each in fields if len(each) > 1)
        if old and new
    ]


def _parse_since(text: str) -> int | None:
    """Convert an ISO time to microseconds since 1970. Return None if the text is not a time."""
    with suppress(ValueError, OverflowError):
        return micros(datetime.fromisoformat(text).astimezone())
    return None


def _to_line(move: FolderMove) -> str:
    fields = [_escape(move.old), _escape(move.new)]
    if move.since is not None:
        fields.append(clock.from_micros(move.since).isoformat())
    return f"{_SEPARATOR.join(fields)}\n"


def _escape(path: str) -> str:
    for character, code in _ESCAPES:
        path = path.replace(character, code)
    return path


def _unescape(text: str) -> str:
    for character, code in reversed(_ESCAPES):
        text = text.replace(code, character)
    return text
