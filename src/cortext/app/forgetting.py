"""Leaving no word of what was masked in the lists and the search index.

What is to be forgotten is written down before anything is masked: a process that is killed between
leaves files without the secret, and an index that still has it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.durability.live import live_holder
from cortext.durability.lock import try_flock
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, remove_if_there, replace, storage_errors
from cortext.index.listed import AUR, DOCUMENT, Listed
from cortext.model import json

Identity = tuple[str, str]
_SUMMARIES = "claude-summaries.sqlite"
"""What an adapter's lists know of the sessions of a folder; it is made anew from them."""


@contextmanager
def forgetting(rows: Sequence[Listed]) -> Generator[None]:
    """What is done meanwhile masks something in these conversations; afterwards their words are
    forgotten. SessionStorageError where that cannot be written down: then nothing was done."""
    every = {row.identity for row in rows} | _unfinished()
    with storage_errors("write", begun_path()):
        make_private_dir(os.path.dirname(begun_path()))
        replace(begun_path(), [json.encode(sorted(every))])
        fd = os.open(begun_path(), os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Who is killed holds it no more: so others know.
        try_flock(fd)
        yield
    finally:
        os.close(fd)
    forget_words(rows)


def is_unfinished() -> bool:
    """Whether somebody was killed before the words were forgotten."""
    return os.path.exists(begun_path()) and live_holder(begun_path()) is None


def forget_words(rows: Sequence[Listed] = ()) -> None:
    """Leave no word of what these conversations held, and of those that were remembered, in the
    lists and the search index, which are made anew when they are needed."""
    from cortext.app.conversations import Conversations
    from cortext.app.indexing import purge
    from cortext.index.catalog import Catalog
    from cortext.index.spawned import SpawnIndex
    from cortext.index.words import Words

    changed = {row.identity for row in rows} | _unfinished()
    conversations = Conversations(paths.workspace_root(), everywhere=True)
    # With little patience, what nobody had the time to look at would stay as it was known.
    everything = conversations.list(copies=True, patience=None).rows
    with Words.at_home() as words:
        purge(words, [row for row in everything if row.identity not in changed])
    with Catalog.at_home() as catalog:
        catalog.purge({os.path.dirname(row.path) for row in everything if row.tool == DOCUMENT})
    logs = {os.path.dirname(row.path): row.tool for row in everything if row.is_log}
    for folder, tool in {**logs, paths.spawn_sessions(): AUR}.items():
        with SpawnIndex(folder, tool) as index:
            index.purge()
        for ending in ("", "-wal", "-shm", "-journal"):
            remove_if_there(f"{folder}/.cortext/{_SUMMARIES}{ending}")
    if live_holder(begun_path()) is None:
        remove_if_there(begun_path())


def begun_path() -> str:
    """What names the conversations that somebody masks something in now."""
    return f"{paths.redaction_key()}.begun"


def _unfinished() -> set[Identity]:
    try:
        return set(decode(read_file(begun_path()), type=list[Identity]))
    except (FileNotFoundError, DecodeError, ValidationError, UnicodeDecodeError):
        return set()
