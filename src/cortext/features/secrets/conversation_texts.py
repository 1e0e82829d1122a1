"""What stands in the files that are a conversation's own, for whoever looks for secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.features.secrets.conversation_files import beside, text_files
from cortext.features.secrets.file_readers import Piece, Unread, of_document, of_files, of_lines
from cortext.features.secrets.redact_value import is_suspect, value_of
from cortext.stores.workspace_layout import Place

HEAD, DOCUMENT, BACKUP = "head", "document", "backup"
"""In the place of a role: title and the like; a text file; an old version."""
NAME = "file name"
"""What a file, or a folder, in a conversation's is called."""


def of_row(row: ConversationRow, unread: Unread) -> Iterator[Piece]:
    """A conversation of a workspace, a session of `spawn` or a document, in its own files."""
    if not row.tool:
        yield from _of_workspace(row.place, unread)
    elif row.is_log:
        yield from of_lines(row.path, HEAD)
        yield from of_files(beside(row.path), BACKUP, unread)
    else:
        yield from of_document(row.path, HEAD, BACKUP)
        yield from of_files(beside(row.path), BACKUP, unread)


def _of_workspace(place: Place, unread: Unread) -> Iterator[Piece]:
    if os.path.isfile(place.head) and is_suspect(data := read_file(place.head)):
        yield Piece(0, HEAD, place.head, value_of(data))
    if os.path.isfile(place.lines):
        yield from of_lines(place.lines, HEAD)
    others = [path for path in text_files(place, unread) if path not in (place.head, place.lines)]
    aside = [path for path in others if path.startswith(f"{place.session}/")]
    yield from of_files((path for path in others if path not in aside), DOCUMENT, unread)
    yield from of_files(aside, BACKUP, unread)
    yield from of_names(place.folder)


def of_names(top: str) -> Iterator[Piece]:
    """What files and folders are called below a conversation's: git would have that too."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in (*folders, *sorted(names)):
            if is_suspect(name.encode("utf-8", "surrogateescape")):
                yield Piece(0, NAME, f"{folder}/{name}", name)
