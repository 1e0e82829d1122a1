"""Deleting conversations: into the trash, from which they can be had back."""

from __future__ import annotations

import os

from cortext import clock, paths
from cortext.durability.replace import remove_if_there
from cortext.durability.trash import Trash, TrashEntry
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.index.catalog import Catalog
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace


def delete(row: Listed) -> TrashEntry:
    """Move a conversation, its folder with the markdown, to the trash."""
    workspace = Workspace(row.root)
    with workspace.changing(row.place):
        return _trash().put(f"{row.key}: {row.title}", [row.place.folder])


def rests_since(row: Listed, limit: int) -> bool:
    """Whether nothing was said in a conversation since a time, in microseconds since 1970. Lists
    may not know yet what was said to one that rests."""
    if row.last_active >= limit:
        return False
    last = Workspace(row.root).store.tail(row.path, 1) if row.status else []
    return not last or last[0].timestamp < clock.from_micros(limit)


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
    if not words:
        raise SessionNotFoundError(given)
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
        with Catalog.at_home() as catalog:
            catalog.purge()
    for entry in gone:
        for origin in entry.origins:
            _forget_locks(origin)
    return gone


def _forget_locks(folder: str) -> None:
    """Locks are named after what they guard; of what is gone for good, they need not tell."""
    head, name = os.path.split(folder)
    shelf, day = os.path.split(head)
    if os.path.lexists(folder):
        return
    for kind in ("lock", "change.lock"):
        remove_if_there(os.path.join(shelf, ".cortext", "locks", f"{day}~{name}.{kind}"))


def _trash() -> Trash:
    return Trash(paths.trash())
