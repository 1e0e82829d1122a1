"""Update the rows of the catalog from the session files.

A *source* is a workspace, an AI tool, a folder of logs or a folder of documents. A refresh of a
source has three steps: load its rows from the catalog, find the changes, store the changes. Only
the second step depends on the kind of source, because each kind arranges its files in its own way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field

from cortext.catalog.rebuildable_database import Database
from cortext.catalog.row_table import (
    ReadPosition,
    Source,
    StoredRow,
    load_folders,
    load_position,
    load_rows,
    store_folders,
    store_rows,
)

KnownRows = Mapping[str, StoredRow]
KnownFolders = Mapping[str, str]
PositionLoader = Callable[[str], ReadPosition | None]
"""A function that returns the read position of the stored row with a key, or None."""


class SourceChanges(Struct):
    """The differences between the files of a source and its rows in the catalog.

    `rows` has new and changed rows by key, and `gone` has the keys of rows to delete. `folders` has
    new fingerprints of folders by path, and `gone_folders` has the paths of deleted folders.
    """

    rows: dict[str, StoredRow] = field(default_factory=dict[str, StoredRow])
    gone: Collection[str] = ()
    folders: dict[str, str] = field(default_factory=dict[str, str])
    gone_folders: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.rows or self.gone or self.folders or self.gone_folders)

    def store(self, db: sqlite3.Connection, source: Source) -> None:
        """Write these changes to the catalog rows of a source."""
        store_rows(db, source, self.rows, self.gone)
        store_folders(db, source, self.folders, self.gone_folders)


def refresh_source(
    database: Database,
    source: Source,
    find_changes: Callable[[KnownRows, KnownFolders, PositionLoader], SourceChanges],
    also_store: Callable[[sqlite3.Connection, SourceChanges], None] = lambda _db, _changes: None,
) -> dict[str, StoredRow]:
    """Update the catalog rows of one source from its files, and return all of its rows by key.

    - `find_changes`: a function that returns the changes. It is called with the stored rows, the
      stored folder fingerprints, and a function that loads the read position of a row by its key
    - `also_store`: a function that writes more data in the same transaction. It is called with the
      database and the changes

    If a refresh is interrupted, nothing is stored.
    """
    rows, folders = database.run(lambda db: (load_rows(db, source), load_folders(db, source)))
    changes = find_changes(
        rows, folders, lambda key: database.run(lambda db: load_position(db, source, key))
    )
    if not changes:
        return rows

    def write(db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        changes.store(db, source)
        also_store(db, changes)

    database.run(write)
    for key in changes.gone:
        rows.pop(key, None)
    rows.update(changes.rows)
    return rows
