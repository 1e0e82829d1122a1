"""Remove redacted texts from the lists and the search index.

The affected conversations are written to a note before anything is redacted. If the process is
killed after the files are redacted, the note says that the index still has the secret.
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
from cortext.catalog.log_sessions import remove_former_index
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.durability.file_lock import FileLock
from cortext.durability.lifetime_lock import live_holder
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import (
    collect_errors,
    remove_if_there,
    replace,
    storage_errors,
)
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.handoff_files import delete_handoff_files
from cortext.features.search.index_refresh import purge
from cortext.model import json_codec
from cortext.workspace.summary_cache_file import remove_summaries

Identity = tuple[str, str]


@contextmanager
def purge_after(rows: Sequence[ConversationRow]) -> Generator[list[CortextError]]:
    """Remove the words of these conversations after the block, which redacts something in them.

    Yield a list for the failures of the block. If the words cannot be removed, that failure is
    added. A note on disk names these conversations until their words are removed. Raises
    SessionStorageError if the note cannot be written, and SessionLockedError if another process
    holds its lock; in both cases the block does not run.
    """
    failures: list[CortextError] = []
    with _noting():
        every = {row.identity for row in rows} | _unfinished()
        with storage_errors("write", paths.unfinished_redact()):
            replace(paths.unfinished_redact(), [json_codec.encode(sorted(every))])
        yield failures
        with collect_errors(failures, "remove masked words from", "the lists and the search index"):
            purge_words(rows)


def is_unfinished() -> bool:
    """Return whether a redaction was killed before it removed the words from the index."""
    return os.path.exists(paths.unfinished_redact()) and live_holder(_lock_path()) is None


def purge_words(rows: Sequence[ConversationRow] | None = None) -> None:
    """Remove the words of these conversations from the lists and the search index.

    The words of an interrupted redaction are removed too. Lists and index are built again when they
    are needed. Without `rows`, only finish an interrupted redaction, unless another process has
    done so. Raises CortextError if words may remain.
    """
    if rows is not None:
        _forget(rows)
        return
    with _noting():
        if os.path.exists(paths.unfinished_redact()):
            _forget(())


def _forget(rows: Sequence[ConversationRow]) -> None:
    changed = {row.identity for row in rows} | _unfinished()
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
    with collect_errors(failures, "clear", "what was handed to tools"):
        delete_handoff_files()
    if failures:
        raise CortextError(
            f"masked words may still be listed or found: {'; '.join(map(str, failures))}",
            hint="`cortext doctor --fix` removes them, and so does the next `cortext redact`",
        )
    remove_if_there(paths.unfinished_redact())


def _lock_path() -> str:
    """Return the lock of a running redaction. The system frees it when the process is killed."""
    return f"{paths.unfinished_redact()}.lock"


@contextmanager
def _noting() -> Generator[None]:
    lock = FileLock(_lock_path(), guards=paths.unfinished_redact())
    with ExitStack() as held:
        with storage_errors("write", paths.unfinished_redact()):
            held.enter_context(lock)
        yield


def _unfinished() -> set[Identity]:
    try:
        return set(decode(read_file(paths.unfinished_redact()), type=list[Identity]))
    except (FileNotFoundError, DecodeError, ValidationError, UnicodeDecodeError):
        return set()
