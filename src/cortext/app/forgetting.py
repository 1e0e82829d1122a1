"""Leaving no word of what was masked in the lists and the search index.

What is to be forgotten is written down before anything is masked: a process that is killed between
leaves files without the secret, and an index that still has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, remove_if_there, replace, storage_errors
from cortext.index.listed import AUR, DOCUMENT, Listed
from cortext.model import json

Identity = tuple[str, str]


def remember_words(rows: Iterable[Listed]) -> None:
    """Their words are to be forgotten."""
    every = {row.identity for row in rows} | _unfinished()
    with storage_errors("write", _path()):
        make_private_dir(os.path.dirname(_path()))
        replace(_path(), [json.encode(sorted(every))])


def is_unfinished() -> bool:
    """Whether somebody was killed before the words were forgotten."""
    return os.path.exists(_path())


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
    remove_if_there(_path())


def _path() -> str:
    return f"{paths.redaction_key()}.begun"


def _unfinished() -> set[Identity]:
    try:
        return set(decode(read_file(_path()), type=list[Identity]))
    except (FileNotFoundError, DecodeError, ValidationError, UnicodeDecodeError):
        return set()
