"""Deleting conversations: into the trash, from which they can be had back."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta

from cortext import clock, paths
from cortext.durability.replace import remove_if_there
from cortext.durability.trash import Trash, TrashEntry
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.index.catalog import Catalog
from cortext.index.listed import Listed
from cortext.index.spawned import SpawnIndex
from cortext.lifecycle.workspace import Workspace


def delete(row: Listed, *, unless: Callable[[], bool] | None = None) -> TrashEntry:
    """Move a conversation, its folder with the markdown, to the trash; `unless` something is true
    now that was not when it was chosen."""
    workspace = Workspace(row.root)
    with workspace.changing(row.place):
        if unless is not None and unless():
            raise CortextError("it was used meanwhile")
        return _trash().put(f"{row.key}: {row.title}", [row.place.folder])


def rests_since(row: Listed, limit: int) -> bool:
    """Whether nothing was said in a conversation since a time, in microseconds since 1970. Lists
    may not know yet what was said to one that rests."""
    if row.last_active >= limit:
        return False
    if not row.status:
        return True
    store = Workspace(row.root).store
    if store.head(row.path).status != row.status:
        return False
    last = store.tail(row.path, 1)
    return not last or last[0].timestamp < clock.from_micros(limit)


def list_trash() -> list[TrashEntry]:
    """What is in the trash, the latest first."""
    return _trash().list()


def restore(given: str) -> TrashEntry:
    """Put back what was deleted: by its number in the list, without leading zeros; by its id or the
    beginning of the conversation's; or by words of its label."""
    trash = _trash()
    entries = trash.list()
    number = int(given) if len(given) < 7 and given.isascii() and given.isdecimal() else 0
    if 0 < number <= len(entries) and not given.startswith("0"):
        return trash.restore(entries[number - 1].id)
    entry = find_entry(given)
    if entry is None:
        raise SessionNotFoundError(given)
    return trash.restore(entry.id)


def find_entry(given: str) -> TrashEntry | None:
    """What was deleted, by its id or the beginning of the conversation's, or by words of its
    label; None if nothing is called that, AmbiguousIdError if several are."""
    entries, words = _trash().list(), given.casefold().split()
    if not words:
        return None
    found = (
        [entry for entry in entries if entry.id.startswith(given) and len(given) > 3]
        or [entry for entry in entries if entry.label.startswith(given)]
        or [entry for entry in entries if all(word in entry.label.casefold() for word in words)]
    )
    if len(found) > 1:
        raise AmbiguousIdError(given, [f"{entry.id} ({entry.label})" for entry in found])
    return found[0] if found else None


def empty(older_than_days: float = 0) -> list[TrashEntry]:
    """Remove for good what was deleted that long ago, also what the catalog and the search index
    knew of it. If a word of it has to stay in the index, so does all of it in the trash."""
    limit = clock.now() - timedelta(days=older_than_days)
    trash = _trash()
    if not any(entry.deleted_at <= limit for entry in trash.list()):
        return []
    _purge_words()
    gone = trash.empty(older_than_days)
    with Catalog.at_home() as catalog:
        catalog.purge()
    with SpawnIndex(paths.spawn_sessions()) as spawned:
        spawned.purge()
    for entry in gone:
        for origin in entry.origins:
            _forget_locks(origin)
    return gone


def _purge_words() -> None:
    from cortext.app.indexing import purge
    from cortext.app.search import Search
    from cortext.index.words import Words

    with Words.at_home() as words:
        purge(words, Search(words).rows)


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
