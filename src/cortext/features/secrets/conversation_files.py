"""Find the files of a conversation, and the texts in them that may contain secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import all_set_aside
from cortext.durability.read_files import read_file
from cortext.features.secrets.leftover_temp_files import is_temp
from cortext.features.secrets.redactor import decode_line, may_hold_secret
from cortext.features.secrets.text_pieces import (
    TextPiece,
    Unread,
    collect_unreadable,
    read_document_pieces,
    read_files_pieces,
    read_line_pieces,
)
from cortext.stores.workspace_layout import ConversationPath, conversations_dir


def text_files(place: ConversationPath, unread: Unread | None = None) -> Iterator[str]:
    """Yield the paths of all files in the folder of a conversation and in its subfolders.

    Files that editors and sync programs left are included. Links and the files of git are skipped.
    If a folder cannot be read, add it to `unread`.
    """
    for folder, folders, names in os.walk(place.folder, onerror=collect_unreadable(unread)):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            path = f"{folder}/{name}"
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


def loose_files(row: ConversationRow) -> list[str]:
    """Return the paths of the files that are in the folders above a conversation's folder.

    The outermost of these folders is `conversations/` of the workspace. The innermost is the day
    folder, which has the conversations of one day. Files in other subfolders are not included.
    """
    place = row.place
    found: list[str] = []
    folders = (conversations_dir(row.workspace), place.shelf, f"{place.shelf}/{place.day}")
    for folder in dict.fromkeys(folders):
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        candidates = (f"{folder}/{name}" for name in names if not is_temp(name))
        found += [path for path in candidates if os.path.isfile(path) and not os.path.islink(path)]
    return found


def files_beside(path: str) -> list[str]:
    """Return the paths of other versions of a session file in the same folder.

    These are versions that a repair set aside, copies that sync programs made in a conflict, and
    backups of editors.
    """
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        return []
    stem, ending = os.path.splitext(name)
    after = re.compile(rf"\.?{re.escape(stem)}(?![\w-])(?P<rest>.*)", re.DOTALL)
    found = {*all_set_aside(path)}
    for other in os.listdir(folder):
        match, other_path = after.fullmatch(other), os.path.join(folder, other)
        if match is None or other in (name, f"{stem}.backup") or _is_other_session(match, ending):
            continue
        if os.path.isfile(other_path) and not os.path.islink(other_path):
            found.add(other_path)
    return sorted(found)


def _is_other_session(match: re.Match[str], ending: str) -> bool:
    """Return whether a file belongs to another session, whose id only begins with the expected id.

    For example, if the expected id is `a`, the file `a.b.jsonl` belongs to another session: `a.b`.
    The group `rest` of `match` is the part of the file name after the expected id. `ending` is the
    suffix of session files. If `rest` contains "conflict" or a space, the result is False: the file
    is a copy of the expected session that a sync program made.
    """
    rest = match["rest"]
    conflict = "conflict" in rest or " " in rest
    return rest.endswith((ending, ".backup")) and not conflict


HEAD, DOCUMENT, BACKUP = "head", "document", "backup"
"""Values of `TextPiece.role` for texts that are not messages.

HEAD is a session without its messages. DOCUMENT is another text file in the folder of the
conversation. BACKUP is an old version of a file.
"""
NAME = "file name"
"""The value of `TextPiece.role` for the name of a file or folder in a conversation."""


def read_row_pieces(row: ConversationRow, unread: Unread) -> Iterator[TextPiece]:
    """Read the files of one conversation, and yield the texts that may contain a secret.

    `row` is a conversation in a workspace, a session log or a session document. Files that cannot
    be read are added to `unread`.
    """
    if not row.tool:
        yield from _read_workspace_pieces(row.place, unread)
    elif row.is_log:
        yield from read_line_pieces(row.path, HEAD)
        yield from read_files_pieces(files_beside(row.path), BACKUP, unread)
    else:
        yield from read_document_pieces(row.path, HEAD, BACKUP)
        yield from read_files_pieces(files_beside(row.path), BACKUP, unread)


def _read_workspace_pieces(place: ConversationPath, unread: Unread) -> Iterator[TextPiece]:
    if os.path.isfile(place.head) and may_hold_secret(data := read_file(place.head)):
        yield TextPiece(0, HEAD, place.head, decode_line(data))
    if os.path.isfile(place.lines):
        yield from read_line_pieces(place.lines, HEAD)
    others = [path for path in text_files(place, unread) if path not in (place.head, place.lines)]
    backups = [path for path in others if path.startswith(f"{place.session}/")]
    yield from read_files_pieces((path for path in others if path not in backups), DOCUMENT, unread)
    yield from read_files_pieces(backups, BACKUP, unread)
    yield from read_name_pieces(place.folder)


def read_name_pieces(top: str) -> Iterator[TextPiece]:
    """Search the names of all files and folders below `top`. Yield names that may contain a secret.

    Names matter because git stores them too.
    """
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in (*folders, *sorted(names)):
            if may_hold_secret(name.encode("utf-8", "surrogateescape")):
                yield TextPiece(0, NAME, f"{folder}/{name}", name)
