"""Delete conversations to the trash, and restore them from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta

from cortext import clock, paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.fulltext.fulltext_index import FulltextIndex
from cortext.catalog.log_session_refresh import SUFFIX, remove_former_index
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import all_set_aside, remove_if_there, storage_errors
from cortext.durability.trash_folder import Trash, TrashEntry
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.resume.agent_temp_files import delete_handoff_files
from cortext.features.search.index_refresh import purge
from cortext.features.search.search import Search
from cortext.features.secrets.adapter_side_files import agents_of, checkpoints_of
from cortext.stores.log import LogStore
from cortext.workspace.agent_sdk_summaries_file import remove_summaries
from cortext.workspace.workspace import Workspace


def delete(row: ConversationRow, *, unless: Callable[[], bool] | None = None) -> TrashEntry:
    """Move a conversation's folder to the trash.

    The function `unless` is called while the conversation is locked. It returns True if the
    conversation was used after the caller chose it. In that case, raise CortextError and move
    nothing.
    """
    workspace = Workspace(row.workspace)
    with workspace.changing(row.place):
        if unless is not None and unless():
            raise CortextError("the conversation was used in the meantime")
        return _trash().put(f"{row.key}: {row.title}", [row.place.folder])


def delete_log(row: ConversationRow) -> TrashEntry:
    """Move a program's session log to the trash, with the files that belong only to that session.

    These files are damaged versions that a repair kept, logs of sub-agents, and checkpoints. State
    that several sessions share is not moved. If a program later continues the session, it finds no
    messages and starts from the beginning. Raises SessionNotFoundError if the log does not exist.
    """
    with ExitStack() as locks:
        for path in filter(None, (row.path, checkpoints_of(row))):
            folder, name = os.path.split(path)
            locks.enter_context(LogStore(folder).changing(name.removesuffix(SUFFIX)))
        if not os.path.lexists(row.path):
            raise SessionNotFoundError(row.key, path=row.path)
        label = f"{row.key}: {row.title}" if row.title else row.key
        return _trash().put(label, files_of_log(row))


def files_of_log(row: ConversationRow) -> list[str]:
    """Return the files that belong only to a program's session. The first one is its log."""
    logs = [row.path, checkpoints_of(row), *(agent.path for agent in agents_of(row))]
    return [file for path in logs if path for file in (path, *all_set_aside(path))]


def is_idle_since(row: ConversationRow, limit: int) -> bool:
    """Return whether a conversation has no message since `limit`, in microseconds since 1970.

    The row may be outdated, so the stored session is read. Return False if the stored status
    differs from the status of the row.
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
        missing.args = (f"the trash has no item {given}",)
        missing.hint = "`cortext trash` lists the items that can be restored"
        raise missing
    return trash.restore(entry.id)


def find_entry(given: str) -> TrashEntry | None:
    """Return the entry of the trash that `given` names; None if there is no such entry.

    `given` is the start of the entry's id or of the conversation's id, or words of its label.
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
    """Delete trash entries that are at least `older_than_days` days old, and return them.

    Their texts are removed from the catalog and the search index too. If the index cannot be
    cleared, the entries stay in the trash.
    """
    limit = clock.now() - timedelta(days=older_than_days)
    trash = _trash()
    if not any(entry.deleted_at <= limit for entry in trash.list()):
        return []
    _purge_index()
    # Files written for agents after the limit have no deleted texts, and may be in use.
    delete_handoff_files(limit.timestamp())
    deleted = trash.empty(older_than_days)
    origins = [origin for entry in deleted for origin in entry.origins]
    try:
        with Catalog.at_home() as catalog:
            catalog.purge()
    finally:
        _purge_summaries(origins)
        for origin in origins:
            _remove_locks(origin)
    return deleted


def _purge_summaries(origins: Iterable[str]) -> None:
    """Remove the summaries and indexes that are stored beside these session logs."""
    logs = {os.path.dirname(origin) for origin in origins if origin.endswith(SUFFIX)}
    for folder in {paths.spawn_sessions(), *logs}:
        with storage_errors("remove the summaries in", folder):
            remove_summaries(folder)
            remove_former_index(folder)


def _purge_index() -> None:
    with FulltextIndex.at_home() as words:
        purge(words, Search(words).rows)


def _remove_locks(folder: str) -> None:
    """Remove the lock files of a deleted conversation. `folder` is its former folder."""
    head, name = os.path.split(folder)
    shelf, day = os.path.split(head)
    # A process that has a log open may hold its lock, so a log's lock stays.
    if os.path.lexists(folder) or name.endswith(SUFFIX):
        return
    for kind in ("lock", "change.lock"):
        remove_if_there(os.path.join(shelf, ".cortext", "locks", f"{day}~{name}.{kind}"))


def _trash() -> Trash:
    return Trash(paths.trash())
