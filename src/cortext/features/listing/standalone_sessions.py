"""Standalone sessions, which belong to no AI tool and no workspace.

These are the sessions of `aur spawn`, and the documents and logs of other programs. Lists show them
beside conversations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from os.path import isdir
from typing import NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.documents.document_refresh import DocumentFolder
from cortext.catalog.lookup import by_id, by_other_id
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.config import Config
from cortext.errors import CortextError
from cortext.workspace.idle_conversations import show_effective_status
from cortext.workspace.known_folders import document_folders, program_folders


class Standalone(NamedTuple):
    """Rows of standalone sessions, and notes about files that could not be read.

    Standalone sessions belong to no AI tool and no workspace. `spawned` are sessions of `aur
    spawn`. `documents` are documents and logs of programs.
    """

    spawned: list[ConversationRow]
    documents: list[ConversationRow]
    notes: list[str]


def shelves(config: Config, roots: Iterable[str]) -> list[DocumentFolder]:
    """Return the existing folders in which programs may store session documents.

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
    """Return the existing folders in which programs may store session logs.

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
    """Return the sessions of `aur spawn` and of programs.

    If `tool` is AUR, return only sessions of `aur spawn`; if it is DOCUMENT, only sessions of
    programs; None means both. `roots` are the workspaces in which programs may store documents. New
    documents are read for about `patience` seconds.
    """
    found = Standalone([], [], [])
    if tool in (None, AUR) and isdir(paths.spawn_sessions()):
        _add_spawned(found, catalog)
    if tool in (None, DOCUMENT) and (folders := shelves(config, roots)):
        rows, notes = catalog.document_sessions(folders, patience=patience)
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
    """Return the sessions in `found` that a list does not already show in another form.

    `known` are the other rows of the list. A session is left out if `known` has the same session
    with at least as many messages. A document is left out if it is also a session of `aur spawn`. A
    session that was imported as a conversation is left out, unless it is newer than the
    conversation.
    """
    spawned, documents, _ = found
    if not (spawned or documents):
        return []
    if copies := catalog.copies(known):
        spawned, documents = _drop_copied(spawned, copies), _drop_copied(documents, copies)
    spawned = _drop_known(spawned, known)
    return [*spawned, *_drop_known(documents, [*known, *spawned])]


def _drop_copied(
    rows: list[ConversationRow], copies: Mapping[tuple[str, int], int]
) -> list[ConversationRow]:
    """Return the rows that are newer than the conversation into which they were imported.

    Rows that were never imported are returned too. `copies` is the result of `Catalog.copies`.
    """
    return [
        row
        for row in rows
        if row.last_active > copies.get((f"{row.tool}:{row.key}", row.created_at), -1)
    ]


def _drop_known(
    rows: list[ConversationRow], known: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Return the rows of sessions that `known` does not contain.

    A session is known if a row in `known` has the same id and start time, and at least as many
    messages.
    """
    if not rows:
        return rows
    ids = {row.id for row in known}.intersection([row.key for row in rows])
    if not ids:
        return rows
    known_counts = {(row.id, row.created_at): row.messages for row in known if row.id in ids}
    return [
        row
        for row in rows
        if row.key not in ids or row.messages > known_counts.get((row.key, row.created_at), -1)
    ]


def find_named_or_imported(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that a query names by path or id.

    If there are none, return the conversations that were imported from a session with this id.
    """
    return (
        find_named(query, rows) or by_other_id(query, rows) or imported_from({query.strip()}, rows)
    )


def find_named(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that a query names exactly.

    The query is the absolute path of a row, or the id that lists show for a row.
    """
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
    """Return the rows of conversations that were imported from sessions with these ids.

    The sessions are of `aur spawn` or of programs.
    """
    parents = {f"{tool}:{id}" for tool in (AUR, DOCUMENT) for id in ids}
    return [row for row in rows if row.parent_id in parents]
