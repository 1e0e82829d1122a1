"""Remove the texts of redacted conversations from the catalog and the search index.

Before anything is redacted, a note is written to disk that names the affected conversations. If the
process is killed before it clears the index, the note says that the index may contain secrets.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.fulltext.fulltext_index import FulltextIndex
from cortext.catalog.log_session_refresh import remove_former_index
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.durability.durable_files import (
    collect_errors,
    remove_if_there,
    replace,
    storage_errors,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.live_session_mark import live_holder
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.agent_temp_files import delete_handoff_files
from cortext.features.search.index_refresh import purge
from cortext.model import json_codec
from cortext.workspace.agent_sdk_summaries_file import remove_summaries

Identity = tuple[str, str]


@contextmanager
def purge_after(rows: Sequence[ConversationRow]) -> Generator[list[CortextError]]:
    """Run a `with` block that redacts conversations, then remove their texts from the search index.

    Yield a list to which the block adds its failures. If the index cannot be cleared, that failure
    is added to the list too. A note on disk names the conversations until the index is cleared.
    Raises SessionStorageError if the note cannot be written, and SessionLockedError if another
    process holds the lock of the note. In both cases the block does not run.
    """
    failures: list[CortextError] = []
    with _hold_note_lock():
        every = {row.identity for row in rows} | _read_note()
        with storage_errors("write", paths.unfinished_redact()):
            replace(paths.unfinished_redact(), [json_codec.encode(sorted(every))])
        yield failures
        places = "the lists and the search index"
        with collect_errors(failures, "remove redacted words from", places):
            purge_words(rows)


def is_unfinished() -> bool:
    """Return whether a redaction was killed before it removed the texts from the search index."""
    return os.path.exists(paths.unfinished_redact()) and live_holder(_lock_path()) is None


def purge_words(rows: Sequence[ConversationRow] | None = None) -> None:
    """Remove the texts of the conversations in `rows` from the catalog and the search index.

    Also remove the texts of conversations whose redaction was interrupted. If `rows` is None,
    remove only the texts of interrupted redactions. The catalog and the index are built again when
    they are needed. Raises CortextError if some texts may remain.
    """
    if rows is not None:
        _purge_rows(rows)
        return
    with _hold_note_lock():
        if os.path.exists(paths.unfinished_redact()):
            _purge_rows(())


def _purge_rows(rows: Sequence[ConversationRow]) -> None:
    changed = {row.identity for row in rows} | _read_note()
    failures: list[CortextError] = []
    conversations = ConversationList(paths.workspace_root(), everywhere=True)
    # No time limit: a conversation that is not read in time would keep its old row.
    everything = conversations.list(copies=True, patience=None).rows
    with collect_errors(failures, "clear", "the search index"), FulltextIndex.at_home() as words:
        purge(words, [row for row in everything if row.identity not in changed])
    with collect_errors(failures, "clear", "the catalog"), Catalog.at_home() as catalog:
        catalog.purge({os.path.dirname(row.path) for row in everything if row.tool == DOCUMENT})
    logs = {os.path.dirname(row.path) for row in everything if row.is_log}
    for folder in {*logs, paths.spawn_sessions()}:
        with collect_errors(failures, "clear the index of", folder):
            remove_summaries(folder)
            remove_former_index(folder)
    with collect_errors(failures, "clear", "the files that were passed to tools"):
        delete_handoff_files()
    if failures:
        raise CortextError(
            f"lists and searches may still show redacted words: {'; '.join(map(str, failures))}",
            hint="`cortext doctor --fix` removes them, and so does the next `cortext redact`",
        )
    remove_if_there(paths.unfinished_redact())


def _lock_path() -> str:
    """Return the path of the lock that a running redaction holds.

    The system frees the lock when the process is killed.
    """
    return f"{paths.unfinished_redact()}.lock"


@contextmanager
def _hold_note_lock() -> Generator[None]:
    lock = FileLock(_lock_path(), guards=paths.unfinished_redact())
    with ExitStack() as locks:
        with storage_errors("write", paths.unfinished_redact()):
            locks.enter_context(lock)
        yield


def _read_note() -> set[Identity]:
    try:
        return set(decode(read_file(paths.unfinished_redact()), type=list[Identity]))
    except (FileNotFoundError, DecodeError, ValidationError, UnicodeDecodeError):
        return set()
