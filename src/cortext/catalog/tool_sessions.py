"""List the sessions of AI tools through the catalog.

Transcripts are in the tools' own folders. If a tool has deleted a transcript, the archive may have
a copy. A refresh calls `stat` for each transcript, and reads the ends of those that changed.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cortext.catalog.database import Database
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import (
    FRESH_NS,
    Source,
    load_fingerprints,
    load_folders,
    load_rows,
    store_folders,
    store_rows,
)
from cortext.catalog.sanitize import told
from cortext.catalog.source_refresh import SourceChanges
from cortext.errors import reason_of
from cortext.tools import transcript_folders
from cortext.tools.deleted_sessions import forgotten, path
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from cortext.catalog.tool_row_reader import NewToolRows


def source_of(tool: str) -> Source:
    """Return the source under which the catalog stores the rows of a tool."""
    return Source("tool", tool)


class ListedToolSessions(NamedTuple):
    """The rows of tool sessions after a refresh.

    `changed` says whether any row is new or deleted. `left` is the number of changed transcripts
    that there was no time to read. `there` says whether any transcript exists. `grown` has the
    sessions bound to conversations whose latest messages may not be captured yet.
    """

    rows: list[ConversationRow]
    changed: bool
    left: int
    there: bool
    grown: Sequence[ConversationRow] = ()


Looks = dict[tuple[str, str], transcript_folders.FolderState]


def look_around() -> Looks:
    """Return the state of each tool's own folder and of its folder in the archive.

    The keys are pairs of a tool and a folder path.
    """
    return {
        (tool, home): transcript_folders.look(tool, home)
        for tool in tool_names()
        for home in _homes(tool)
    }


def refresh(
    database: Database, looks: Looks, began: int, patience: float | None
) -> ListedToolSessions:
    """Refresh and return the rows of all tools, reading the latest transcripts first.

    `looks` is the result of `look_around`, and `began` is its time in nanoseconds. Reading stops
    after about `patience` seconds; None means no limit. Sessions that the user deleted with cortext
    are not listed, even if the tool still has them.
    """
    deleted = _deleted_sessions()
    known = database.run(
        lambda db: {tool: load_folders(db, source_of(tool)) for tool in tool_names()}
    )
    there = any(look.print for look in looks.values())
    changed = {
        tool
        for (tool, home), look in looks.items()
        if known[tool].get(home, "") != _fingerprint_of(look)
    }
    if not changed:
        rows = database.run(lambda db: _listed(db, deleted))
        return ListedToolSessions(rows, changed=False, left=0, there=there)
    looks = {key: now for key, now in looks.items() if key[0] in changed}
    known = database.run(
        lambda db: {tool: load_fingerprints(db, source_of(tool)) for tool in changed}
    )
    from cortext.catalog.tool_row_reader import glance_at

    found = glance_at(looks, known, deleted, patience)
    database.run(lambda db: _store(db, found, looks, began))
    rows = database.run(lambda db: _listed(db, deleted))
    return ListedToolSessions(
        rows, any(found.new.values()) or any(found.gone.values()), found.left, there
    )


def _fingerprint_of(look: transcript_folders.FolderState) -> str:
    return look.print.hex()


def _deleted_sessions() -> set[tuple[str, str]]:
    try:
        return {(one.tool, one.id) for one in forgotten()}
    except OSError as error:
        logging.getLogger("cortext.catalog").warning(
            "deleted sessions are listed too: %s cannot be read: %s", path(), reason_of(error)
        )
        return set()


def _homes(tool: str) -> tuple[str, ...]:
    """Return the tool's own folder of transcripts, and its folder in the archive."""
    return transcript_folders.own_home(tool), transcript_folders.archive_home(tool)


def _listed(db: sqlite3.Connection, deleted: set[tuple[str, str]]) -> list[ConversationRow]:
    """Return the rows of all tools, without the sessions that the user deleted."""
    return [
        stored.row
        for tool in tool_names()
        for stored in load_rows(db, source_of(tool)).values()
        if stored.row and (tool, stored.row.key) not in deleted
    ]


def _store(db: sqlite3.Connection, found: NewToolRows, looks: Looks, began: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    for tool in {tool for tool, _ in looks}:
        changes = SourceChanges(found.new.get(tool, {}), found.gone.get(tool, ()))
        for (name, home), now in looks.items():
            if name == tool:
                # A file that was just written can change again within the same clock tick.
                settled = not found.left and now.latest < began - FRESH_NS
                changes.folders[home] = _fingerprint_of(now) if settled else "unsettled"
        changes.store(db, source_of(tool))


def forget_unmasked(db: sqlite3.Connection) -> None:
    """Delete the rows of tool sessions that have a secret in their title.

    An earlier version may have stored such titles. The next refresh reads the sessions again.
    """
    for tool in tool_names():
        source = source_of(tool)
        rows = load_rows(db, source)
        bad = [key for key, stored in rows.items() if _has_secret(stored.row)]
        if bad:
            store_rows(db, source, {}, bad)
            store_folders(db, source, {}, load_folders(db, source))


def _has_secret(row: ConversationRow | None) -> bool:
    return row is not None and told(row.title) != row.title
