"""Delete conversations to the trash, and restore them from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta

from cortext import clock, paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.fulltext.fulltext_index import FulltextIndex
from cortext.catalog.log_sessions import SUFFIX, remove_former_index
from cortext.catalog.row import ConversationRow
from cortext.durability.replace_file import all_set_aside, remove_if_there, storage_errors
from cortext.durability.trash_folder import Trash, TrashEntry
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.resume.handoff_files import delete_handoff_files
from cortext.features.search.index_refresh import purge
from cortext.features.search.search import Search
from cortext.features.secrets.adapter_files import agents_of, state_of
from cortext.stores.log import LogStore
from cortext.workspace.summary_cache_file import remove_summaries
from cortext.workspace.workspace import Workspace


def delete(row: ConversationRow, *, unless: Callable[[], bool] | None = None) -> TrashEntry:
    """Move a conversation's folder to the trash.

    `unless` is called under the lock of the conversation. If it returns true, raise CortextError:
    the conversation was used after the caller chose it.
    """
    workspace = Workspace(row.workspace)
    with workspace.changing(row.place):
        if unless is not None and unless():
            raise CortextError("it was used meanwhile")
        return _trash().put(f"{row.key}: {row.title}", [row.place.folder])


def delete_log(row: ConversationRow) -> TrashEntry:
    """Move a program's session log to the trash, with the files that belong only to that session.

    These are set-aside versions, logs of sub-agents and checkpoints. State that several sessions
    share is not moved. A program that continues the session starts with an empty session. Raises
    SessionNotFoundError if the log does not exist.
    """
    with ExitStack() as held:
        for path in filter(None, (row.path, state_of(row))):
            folder, name = os.path.split(path)
            held.enter_context(LogStore(folder).changing(name.removesuffix(SUFFIX)))
        if not os.path.lexists(row.path):
            raise SessionNotFoundError(row.key, path=row.path)
        label = f"{row.key}: {row.title}" if row.title else row.key
        return _trash().put(label, files_of_log(row))


def files_of_log(row: ConversationRow) -> list[str]:
    """Return all files that belong only to a program's session: its log first, then the others."""
    logs = [row.path, state_of(row), *(agent.path for agent in agents_of(row))]
    return [file for path in logs if path for file in (path, *all_set_aside(path))]


def rests_since(row: ConversationRow, limit: int) -> bool:
    """Return whether a conversation has no message after `limit`, in microseconds since 1970.

    Also return False if its status is not that of the row. The stored session is read, because the
    row may be older.
    """
    if row.last_active >= limit:
        return False
    if not row.status:
        return True
    store = Workspace(row.workspace).store
    if store.head(row.path).status != row.status:
        return False
    last = store.tail(row.path, 1)
    return not last or last[0].timestamp < clock.from_micros(limit)


def list_trash() -> list[TrashEntry]:
    """Return the entries of the trash, the latest first."""
    return _trash().list()


def restore(given: str) -> TrashEntry:
    """Restore an entry of the trash.

    `given` is the entry's number in the list of the trash, the start of its id or of the
    conversation's id, or words of its label. Raises SessionNotFoundError if no entry matches, and
    AmbiguousIdError if several match.
    """
    trash = _trash()
    entries = trash.list()
    number = int(given) if len(given) < 7 and given.isascii() and given.isdecimal() else 0
    if 0 < number <= len(entries) and not given.startswith("0"):
        return trash.restore(entries[number - 1].id)
    entry = find_entry(given)
    if entry is None:
        missing = SessionNotFoundError(given)
        missing.hint = "`cortext trash` lists what can be brought back"
        raise missing
    return trash.restore(entry.id)


def find_entry(given: str) -> TrashEntry | None:
    """Return the entry of the trash that a text names; None if there is none.

    The text is the start of the entry's id or of the conversation's id, or words of its label.
    Raises AmbiguousIdError if several entries match.
    """
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
    """Delete old entries of the trash for good, and return them.

    Their texts are removed from the catalog and the search index too. If the index cannot be
    cleared, the entries stay in the trash.
    """
    limit = clock.now() - timedelta(days=older_than_days)
    trash = _trash()
    if not any(entry.deleted_at <= limit for entry in trash.list()):
        return []
    _purge_words()
    # Files written for agents after the limit have none of these words, and may be in use.
    delete_handoff_files(limit.timestamp())
    gone = trash.empty(older_than_days)
    origins = [origin for entry in gone for origin in entry.origins]
    try:
        with Catalog.at_home() as catalog:
            catalog.purge()
    finally:
        _purge_lists(origins)
        for origin in origins:
            _forget_locks(origin)
    return gone


def _purge_lists(origins: Iterable[str]) -> None:
    """Remove the summaries and indexes that are stored beside these session logs."""
    logs = {os.path.dirname(origin) for origin in origins if origin.endswith(SUFFIX)}
    for folder in {paths.spawn_sessions(), *logs}:
        with storage_errors("empty the trash of", folder):
            remove_summaries(folder)
            remove_former_index(folder)


def _purge_words() -> None:
    with FulltextIndex.at_home() as words:
        purge(words, Search(words).rows)


def _forget_locks(folder: str) -> None:
    """Remove the lock files of a deleted conversation, which are named after it."""
    head, name = os.path.split(folder)
    shelf, day = os.path.split(head)
    # A process that has a log open may hold its lock, so a log's lock stays.
    if os.path.lexists(folder) or name.endswith(SUFFIX):
        return
    for kind in ("lock", "change.lock"):
        remove_if_there(os.path.join(shelf, ".cortext", "locks", f"{day}~{name}.{kind}"))


def _trash() -> Trash:
    return Trash(paths.trash())
