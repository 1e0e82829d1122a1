"""Sessions that no AI tool has and no workspace: those of `aur spawn`, and those that programs
keep, as documents or as logs. Lists have them beside the others.
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
    """The sessions of each kind, and what is wrong with files that have none."""

    spawned: list[ConversationRow]
    documents: list[ConversationRow]
    notes: list[str]


def shelves(config: Config, roots: Iterable[str]) -> list[DocumentFolder]:
    """The folders in which programs may keep documents: the default one, those of workspaces,
    those that they chose, and those that a person named; only such as are there."""
    default, *chosen = document_folders()
    found = [DocumentFolder(default)]
    found += [DocumentFolder(paths.project_document_dir(root), root) for root in roots]
    named = map(os.path.abspath, config["sources.documents"])
    found += [DocumentFolder(folder) for folder in (*chosen, *named)]
    return [shelf for shelf in found if isdir(shelf.folder)]


def log_folders(config: Config) -> list[str]:
    """The folders in which programs may keep logs: the default one, those that they chose, and
    those that a person named; only such as are there."""
    named = map(os.path.abspath, config["sources.documents"])
    return [folder for folder in dict.fromkeys([*program_folders(), *named]) if isdir(folder)]


def list_standalone(
    catalog: Catalog,
    config: Config,
    roots: Iterable[str],
    tool: str | None,
    patience: float | None,
) -> Standalone:
    """All that there are now; of one kind, if `tool` says which. `roots` are the workspaces in
    which programs may keep documents. What is new is read for about `patience` seconds."""
    found = Standalone([], [], [])
    if tool in (None, AUR) and isdir(paths.spawn_sessions()):
        _add_spawned(found, catalog)
    if tool in (None, DOCUMENT) and (there := shelves(config, roots)):
        rows, notes = catalog.document_sessions(there, patience=patience)
        # Programs do not tell when they leave a session, so inactivity decides.
        minutes = float(config["sessions.pause_minutes"])
        found.documents.extend(show_effective_status(rows, minutes))
        found.notes.extend(notes)
    if tool in (None, DOCUMENT):
        for folder in log_folders(config):
            _add_logs(found, catalog, folder, float(config["sessions.pause_minutes"]))
    return found


def _add_logs(found: Standalone, catalog: Catalog, folder: str, minutes: float) -> None:
    try:
        # Programs do not tell whether they have a session open.
        rows = catalog.log_sessions(folder, DOCUMENT, lost="active")
    except CortextError as error:
        found.notes.append(str(error))
        return
    found.documents.extend(show_effective_status(rows, minutes))


def _add_spawned(found: Standalone, catalog: Catalog) -> None:
    try:
        # Only `aur` itself shows interrupted and paused sessions as different.
        found.spawned.extend(catalog.log_sessions(paths.spawn_sessions(), lost="paused"))
    except CortextError as error:
        found.notes.append(str(error))


def without_known(
    catalog: Catalog, found: Standalone, known: Sequence[ConversationRow]
) -> list[ConversationRow]:
    """Those that are nowhere else: neither is a conversation of `known` the same, or a session of
    another kind, nor was a conversation made of it that has gone on since."""
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
    """Without those that one of `known` is too: it has the same id and beginning, and as much."""
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
    """What is kept in the file, or the folder, that is named; or the conversations that were made
    of the session that is called so, if that is not listed itself."""
    return (
        find_named(query, rows) or by_other_id(query, rows) or imported_from({query.strip()}, rows)
    )


def find_named(query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
    """What is kept in the file, or the folder, that is named, or is listed under this id."""
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
    """The conversations that were made of sessions of these ids."""
    parents = {f"{tool}:{id}" for tool in (AUR, DOCUMENT) for id in ids}
    return [row for row in rows if row.parent_id in parents]
