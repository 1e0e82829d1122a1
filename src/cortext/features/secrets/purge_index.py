"""Leaving no word of what was masked in the lists and the search index.

What is to be forgotten is written down before anything is masked: a process that is killed between
leaves files without the secret, and an index that still has it.
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
    """Forget the words of these conversations after the block, which masks something in them.

    Yield a list for the failures of the block; if the words cannot be forgotten, that is added.
    A note on disk names these conversations until their words are forgotten. SessionStorageError
    if the note cannot be written, SessionLockedError if another process holds it; the block does
    not run then.
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
    """Whether somebody was killed before the words were forgotten."""
    return os.path.exists(paths.unfinished_redact()) and live_holder(_lock_path()) is None


def purge_words(rows: Sequence[ConversationRow] | None = None) -> None:
    """Leave no word of what these conversations held, and of those that were remembered, in the
    lists and the search index, which are made anew when they are needed. Without conversations, do
    what somebody was killed before, unless another has done it meanwhile."""
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
    # With little patience, what nobody had the time to look at would stay as it was known.
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
    """What is held meanwhile: who is killed holds it no more, so others know."""
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
