"""Standalone sessions, which belong to no AI tool and no workspace.

These are the sessions of `aur spawn`, and the documents and logs of other programs. Lists show them
beside conversations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from os.path import isdir
from typing import NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import by_id, by_other_id
from cortext.catalog.program_documents import DocumentFolder
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.config import Config
from cortext.errors import CortextError
from cortext.workspace.inactivity import show_effective_status
from cortext.workspace.known_folders import document_folders, program_folders


class Standalone(NamedTuple):
    """Rows of standalone sessions, and notes about files that could not be read.

    `spawned` are sessions of `aur spawn`. `documents` are documents and logs of programs.
    """

    spawned: list[ConversationRow]
    documents: list[ConversationRow]
    notes: list[str]


def shelves(config: Config, roots: Iterable[str]) -> list[DocumentFolder]:
    """Return the existing folders in which programs may store documents.

    These are the default folder, one folder in each workspace of `roots`, folders that programs
    chose, and folders in the settings.
    """
    default, *chosen = document_folders()
    found = [DocumentFolder(default)]
    found += [DocumentFolder(paths.project_document_dir(root), root) for root in roots]
    named = map(os.path.abspath, config["sources.documents"])
    found += [DocumentFolder(folder) for folder in (*chosen, *named)]
    return [shelf for shelf in found if isdir(shelf.folder)]


def log_folders(config: Config) -> list[str]:
    """Return the existing folders in which programs may store logs.

    These are the default folder, folders that programs chose, and folders in the settings.
    """
    named = map(os.path.abspath, config["sources.documents"])
    return [folder for folder in dict.fromkeys([*program_folders(), *named]) if isdir(folder)]


def list_standalone(
    catalog: Catalog,
    config: Config,
    roots: Iterable[str],
    tool: str | None,
    patience: float | None,
) -> Standalone:
    """Return the standalone sessions.

    `tool` limits the result to `AUR` or `DOCUMENT`; None means both. `roots` are the workspaces in
    which programs may store documents. New documents are read for about `patience` seconds.
    """
    found = Standalone([], [], [])
    if tool in (None, AUR) and isdir(paths.spawn_sessions()):
        _add_spawned(found, catalog)
    if tool in (None, DOCUMENT) and (there := shelves(config, roots)):
        rows, notes = catalog.document_sessions(there, patience=patience)
        # Programs do not record the end of a session, so inactivity decides.
        minutes = float(config["sessions.pause_minutes"])
        found.documents.extend(show_effective_status(rows, minutes))
        found.notes.extend(notes)
    if tool in (None, DOCUMENT):
        for folder in log_folders(config):
            _add_logs(found, catalog, folder, float(config["sessions.pause_minutes"]))
    return found


def _add_logs(found: Standalone, catalog: Catalog, folder: str, minutes: float) -> None:
    try:
        # Programs do not record whether they have a session open.
        rows = catalog.log_sessions(folder, DOCUMENT, lost="active")
    except CortextError as error:
        found.notes.append(str(error))
        return
    found.documents.extend(show_effective_status(rows, minutes))


def _add_spawned(found: Standalone, catalog: Catalog) -> None:
    try:
        # Only `aur` itself distinguishes interrupted and paused sessions.
        found.spawned.extend(catalog.log_sessions(paths.spawn_sessions(), lost="paused"))
    except CortextError as error:
        found.notes.append(str(error))


def without_known(
    catalog: Catalog, found: Standalone, known: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Return the standalone sessions that a list does not already show in another form.

    A session is left out if `known` has the same session with at least as many messages. A document
    is also left out if a session of `aur spawn` is the same. A session that was imported as a
    conversation is left out unless it has later activity than the conversation.
    """
    spawned, kept, _ = found
    if not (spawned or kept):
        return []
    if copies := catalog.copies(known):
        spawned = [r for r in spawned if r.last_active > copies.get(f"{AUR}:{r.key}", -1)]
        kept = [r for r in kept if r.last_active > copies.get(f"{DOCUMENT}:{r.key}", -1)]
    spawned = _not_among(spawned, known)
    return [*spawned, *_not_among(kept, [*known, *spawned])]


def _not_among(
    rows: list[ConversationRow], known: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Drop rows for which `known` has the same id and start time and at least as many messages."""
    if not rows:
        return rows
    ids = {row.id for row in known}.intersection([row.key for row in rows])
    if not ids:
        return rows
    said = {(row.id, row.created_at): row.messages for row in known if row.id in ids}
    return [
        row
        for row in rows
        if row.key not in ids or row.messages > said.get((row.key, row.created_at), -1)
    ]


def find_named_or_imported(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that a query names by path or id.

    If there are none, return the conversations that were imported from a session with this id.
    """
    return (
        find_named(query, rows) or by_other_id(query, rows) or imported_from({query.strip()}, rows)
    )


def find_named(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows with this absolute path, or the rows that lists show under this id."""
    text = query.strip()
    if not text.startswith("/"):
        return by_id(text, rows)
    path = text.rstrip("/")
    return [
        row
        for row in rows
        if (row.path if row.tool else f"{row.workspace}/{row.path}") in (text, path)
    ]


def imported_from(ids: Iterable[str], rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the conversations that were imported from standalone sessions with these ids."""
    parents = {f"{tool}:{id}" for tool in (AUR, DOCUMENT) for id in ids}
    return [row for row in rows if row.parent_id in parents]
