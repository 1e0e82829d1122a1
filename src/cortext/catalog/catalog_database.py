"""The database file of the catalog: where it is, and which tables it has."""

from __future__ import annotations

import os

from cortext import paths
from cortext.catalog import (
    CATALOG_VERSION,
    message_and_token_counts,
    row_table,
    session_links,
    usage_table,
)
from cortext.catalog.rebuildable_database import MEMORY, Database, Fallback, log
from cortext.durability.durable_files import remove_if_there

_SCHEMA = f"""
{row_table.SCHEMA};
CREATE TABLE shown (terminal TEXT, number INTEGER, root BLOB, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root BLOB, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID;
{session_links.SCHEMA};
{message_and_token_counts.SCHEMA};
{usage_table.SCHEMA}"""


def catalog_path() -> str:
    """Return the path of the current user's catalog.

    If its folder is not writable, return `MEMORY`, which means a database in memory. If the file
    does not exist yet, also delete the catalog that an early version wrote to another folder.
    """
    path = paths.catalog()
    if not os.path.lexists(path):
        _remove_former_catalog(path)
    folder = os.path.dirname(path)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
    return path if usable else MEMORY


def open_catalog(path: str) -> Database:
    """Return the database of the catalog at `path`. The file is created on first use."""
    return Database(
        path,
        schema=_SCHEMA,
        version=CATALOG_VERSION,
        name="the catalog",
        fallback=Fallback.MEMORY,
    )


def _remove_former_catalog(path: str) -> None:
    """Delete the catalog that an early version stored in the data folder.

    `path` is the path of the catalog today.
    """
    former = paths.former_catalog()
    if former == path or not os.path.lexists(former):
        return
    try:
        for suffix in ("", "-wal", "-shm"):
            remove_if_there(former + suffix)
    except OSError as error:
        log.info("%s is no longer used, but could not be removed: %s", former, error)
