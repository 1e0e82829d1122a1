"""Use the catalog to list the sessions of AI tools.

The transcripts of a tool are in the tool's own folder. cortext copies them to its archive, so the
archive may have a transcript that the tool has deleted. A refresh calls `stat` for each transcript.
It reads the beginning and the end of each transcript that changed.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cortext.catalog.message_and_token_counts import forget_counts
from cortext.catalog.rebuildable_database import Database
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
from cortext.catalog.row_text_redaction import told
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

    - `changed`: whether the refresh added, changed or deleted a row
    - `left`: the number of changed transcripts that were not read before the time limit
    - `there`: whether any transcript exists
    - `bound`: the sessions that belong to the conversations in `known`, which is an argument of
      `Catalog.tool_sessions`
    - `grown`: the sessions in `bound` that may have messages which are not in the conversation yet
    """

    rows: list[ConversationRow]
    changed: bool
    left: int
    there: bool
    grown: Sequence[ConversationRow] = ()
    bound: Sequence[ConversationRow] = ()


Looks = dict[tuple[str, str], transcript_folders.FolderState]


def scan_tool_folders() -> Looks:
    """Return the state of every folder of transcripts, by tool and folder path.

    There are two folders for each tool: its own, and cortext's archive of its transcripts.
    """
    return {
        (tool, home): transcript_folders.look(tool, home)
        for tool in tool_names()
        for home in _homes(tool)
    }


def refresh(
    database: Database, folder_states: Looks, began: int, patience: float | None
) -> ListedToolSessions:
    """Update the catalog rows of all tools from their transcripts, and return the rows.

    `folder_states` is the result of `scan_tool_folders`, and `began` is the time when it was
    called, in nanoseconds since 1970. The latest transcripts are read first. Reading stops after
    about `patience` seconds; None means no limit. Sessions that the user deleted with cortext are
    not listed, even if the tool still has them.
    """
    deleted = _deleted_sessions()
    known = database.run(
        lambda db: {tool: load_folders(db, source_of(tool)) for tool in tool_names()}
    )
    has_transcripts = any(state.print for state in folder_states.values())
    changed = {
        tool
        for (tool, home), state in folder_states.items()
        if known[tool].get(home, "") != _fingerprint_of(state)
    }
    if not changed:
        rows = database.run(lambda db: _load_listed(db, deleted))
        return ListedToolSessions(rows, changed=False, left=0, there=has_transcripts)
    folder_states = {key: state for key, state in folder_states.items() if key[0] in changed}
    known = database.run(
        lambda db: {tool: load_fingerprints(db, source_of(tool)) for tool in changed}
    )
    from cortext.catalog.tool_row_reader import read_changed_sessions

    found = read_changed_sessions(folder_states, known, deleted, patience)
    database.run(lambda db: _store(db, found, folder_states, began))
    rows = database.run(lambda db: _load_listed(db, deleted))
    return ListedToolSessions(
        rows, any(found.new.values()) or any(found.gone.values()), found.left, has_transcripts
    )


def _fingerprint_of(state: transcript_folders.FolderState) -> str:
    return state.print.hex()


def _deleted_sessions() -> set[tuple[str, str]]:
    try:
        return {(session.tool, session.id) for session in forgotten()}
    except OSError as error:
        logging.getLogger("cortext.catalog").warning(
            "lists include deleted sessions, because %s cannot be read: %s",
            path(),
            reason_of(error),
        )
        return set()


def _homes(tool: str) -> tuple[str, ...]:
    """Return the tool's own folder of transcripts, and its folder in the archive."""
    return transcript_folders.own_home(tool), transcript_folders.archive_home(tool)


def _load_listed(db: sqlite3.Connection, deleted: set[tuple[str, str]]) -> list[ConversationRow]:
    """Return the rows of all tools, without the sessions that the user deleted."""
    return [
        stored.row
        for tool in tool_names()
        for stored in load_rows(db, source_of(tool)).values()
        if stored.row and (tool, stored.row.key) not in deleted
    ]


def _store(db: sqlite3.Connection, found: NewToolRows, folder_states: Looks, began: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    for tool in {tool for tool, _ in folder_states}:
        forget_counts(db, tool, found.gone.get(tool, ()))
        changes = SourceChanges(found.new.get(tool, {}), found.gone.get(tool, ()))
        for (name, home), state in folder_states.items():
            if name == tool:
                # A file that was just written can change again within the same clock tick.
                settled = not found.left and state.latest < began - FRESH_NS
                changes.folders[home] = _fingerprint_of(state) if settled else "unsettled"
        changes.store(db, source_of(tool))


def forget_unmasked(db: sqlite3.Connection) -> None:
    """Delete the rows of tool sessions that have a secret in their title.

    An earlier version may have stored such titles. The next refresh reads the sessions again.
    """
    for tool in tool_names():
        source = source_of(tool)
        rows = load_rows(db, source)
        unmasked = [key for key, stored in rows.items() if _has_secret(stored.row)]
        if unmasked:
            store_rows(db, source, {}, unmasked)
            store_folders(db, source, {}, load_folders(db, source))


def _has_secret(row: ConversationRow | None) -> bool:
    return row is not None and told(row.title) != row.title
