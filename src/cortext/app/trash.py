"""Deleting conversations: into the trash, from which they can be had back."""

from __future__ import annotations

from cortext import paths
from cortext.durability.trash import Trash, TrashEntry
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.index.catalog import Catalog
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace


def delete(row: Listed) -> TrashEntry:
    """Move a conversation, its folder with the markdown, to the trash."""
    workspace = Workspace(row.root)
    with workspace.changing_at(row.place):
        return _trash().put(f"{row.key}: {row.title}", [row.place.folder])


def list_trash() -> list[TrashEntry]:
    """What is in the trash, the latest first."""
    return _trash().list()


def restore(given: str) -> TrashEntry:
    """Put back what was deleted: by its number in the list, its id, or words of its label."""
    trash = _trash()
    entries = trash.list()
    if given.isascii() and given.isdecimal() and 0 < int(given) <= len(entries):
        return trash.restore(entries[int(given) - 1].id)
    words = given.casefold().split()
    found = [entry for entry in entries if entry.id.startswith(given)] or [
        entry for entry in entries if all(word in entry.label.casefold() for word in words)
    ]
    if not found:
        raise SessionNotFoundError(given)
    if len(found) > 1:
        raise AmbiguousIdError(given, [f"{entry.id} ({entry.label})" for entry in found])
    return trash.restore(found[0].id)


def empty(older_than_days: float = 0) -> list[TrashEntry]:
    """Remove for good what was deleted that long ago, also what the catalog knew of it."""
    gone = _trash().empty(older_than_days)
    if gone:
        with Catalog(paths.catalog()) as catalog:
            catalog.purge()
    return gone


def _trash() -> Trash:
    return Trash(paths.trash())
