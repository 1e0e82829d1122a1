"""The sessions of AI tools, as the catalog lists them: from the tools' own folders, and from our
archive the sessions that a tool no longer has.

A refresh costs a `stat` for each transcript, and a glance at each that changed. Every list imports
this module; the module that reads transcripts is imported when one changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cortext import clock
from cortext.catalog.database import micros, plain
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
from cortext.tools import scan
from cortext.tools.deleted_sessions import forgotten
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from cortext.catalog.tool_rows import NewToolRows

T = TypeVar("T")
SCHEMA = """
CREATE TABLE links (workspace BLOB, path BLOB, relation TEXT, id TEXT, last_active INTEGER);
CREATE INDEX links_of ON links (workspace, path);
CREATE INDEX links_to ON links (id);
CREATE TABLE captured (id TEXT PRIMARY KEY, fingerprint TEXT) WITHOUT ROWID
"""
_BINDING, _COPY = "binding", "copy"
"""Relations: the conversation takes place in a tool's session, or was made of a standalone one."""


def source_of(tool: str) -> Source:
    return Source("tool", tool)


class ListedToolSessions(NamedTuple):
    """The result of a refresh: the sessions of tools; whether anything was new; how many
    transcripts were not read yet, because there was no time; whether there is any transcript at
    all; and the sessions of conversations that may have messages which were not captured."""

    rows: list[ConversationRow]
    changed: bool
    left: int
    there: bool
    grown: Sequence[ConversationRow] = ()


Looks = dict[tuple[str, str], scan.FolderState]


def look_around() -> Looks:
    """How the folder of each tool looks now, and our copy of it."""
    return {(tool, home): scan.look(tool, home) for tool in tool_names() for home in _homes(tool)}


def refresh(
    run: Callable[[Callable[[sqlite3.Connection], Any]], Any],
    looks: Looks,
    began: int,
    patience: float | None,
) -> ListedToolSessions:
    """Bring the catalog up to date with how the tools' folders look, the latest transcripts first,
    for about `patience` seconds. What a person deleted is not listed, also where the tool has it
    still."""
    gone = _forgotten()
    known = run(lambda db: {tool: load_folders(db, source_of(tool)) for tool in tool_names()})
    there = any(look.print for look in looks.values())
    changed = {
        tool
        for (tool, home), look in looks.items()
        if known[tool].get(home, "") != _fingerprint_of(look)
    }
    if not changed:
        return ListedToolSessions(
            run(lambda db: _listed(db, gone)), changed=False, left=0, there=there
        )
    from cortext.catalog.tool_rows import glance_at

    looks = {key: now for key, now in looks.items() if key[0] in changed}
    known = run(lambda db: {tool: load_fingerprints(db, source_of(tool)) for tool in changed})
    found = glance_at(looks, known, gone, patience)
    run(lambda db: _store(db, found, looks, began))
    rows = run(lambda db: _listed(db, gone))
    return ListedToolSessions(
        rows, any(found.new.values()) or any(found.gone.values()), found.left, there
    )


def _fingerprint_of(look: scan.FolderState) -> str:
    return look.print.hex()


def _forgotten() -> set[tuple[str, str]]:
    try:
        return {(one.tool, one.id) for one in forgotten()}
    except OSError as error:
        import logging

        from cortext.errors import reason_of
        from cortext.tools.deleted_sessions import path

        told = f"{path()} cannot be read: {reason_of(error)}"
        logging.getLogger("cortext.catalog").warning("what was deleted is listed too: %s", told)
        return set()


def _homes(tool: str) -> tuple[str, ...]:
    """The tool's own folder, then our copy."""
    return scan.own_home(tool), scan.archive_home(tool)


def _listed(db: sqlite3.Connection, gone: set[tuple[str, str]]) -> list[ConversationRow]:
    """Return the rows of all tools, without the sessions that a person deleted."""
    return [
        stored.row
        for tool in tool_names()
        for stored in load_rows(db, source_of(tool)).values()
        if stored.row and (tool, stored.row.key) not in gone
    ]


def _store(db: sqlite3.Connection, found: NewToolRows, looks: Looks, began: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    for tool in {tool for tool, _ in looks}:
        store_rows(db, source_of(tool), found.new.get(tool, {}), found.gone.get(tool, ()))
    for (tool, home), now in looks.items():
        # A file that was just written may be written again within the same tick of the clock.
        settled = not found.left and now.latest < began - FRESH_NS
        fingerprint = _fingerprint_of(now) if settled else "unsettled"
        store_folders(db, source_of(tool), {home: fingerprint})


def forget_unmasked(db: sqlite3.Connection) -> None:
    """Forget sessions with a secret in their title, as an earlier version stored them."""
    from cortext.catalog.sanitize import told

    for tool in tool_names():
        source = source_of(tool)
        rows = load_rows(db, source)
        bad = [key for key, (_, row) in rows.items() if row and told(row.title) != row.title]
        if bad:
            store_rows(db, source, {}, bad)
            store_folders(db, source, {}, load_folders(db, source))


def store_links(
    db: sqlite3.Connection, root: str, rows: Mapping[str, ConversationRow | None]
) -> None:
    """Remember the sessions that conversations take place in, and those that they were made of.
    A row of None is a conversation that is gone."""
    key = os.fsencode(root)
    for path, row in rows.items():
        where = (key, os.fsencode(path))
        db.execute("DELETE FROM links WHERE workspace = ? AND path = ?", where)
        if row is None:
            continue
        found = [(_BINDING, id) for id in row.session_ids]
        found += [(_COPY, id) for id in row.source_ids]
        db.executemany(
            "INSERT INTO links VALUES (?,?,?,?,?)",
            [(*where, relation, id, row.last_active) for relation, id in found],
        )


def add_link(db: sqlite3.Connection, root: str, path: str, session_id: str) -> None:
    """Remember a binding that was made just now, until the next refresh reads its conversation."""
    link = (os.fsencode(root), os.fsencode(path), _BINDING, plain(session_id), micros(clock.now()))
    db.execute("INSERT INTO links VALUES (?,?,?,?,?)", link)


def load_links(db: sqlite3.Connection, session_id: str) -> list[tuple[str, str]]:
    """Return workspace and path of the conversations that a session is bound to, the latest
    first."""
    query = """SELECT workspace, path FROM links WHERE id = ? AND relation = ?
        GROUP BY workspace, path ORDER BY max(last_active) DESC"""
    found = db.execute(query, (plain(session_id), _BINDING)).fetchall()
    return [(os.fsdecode(root), os.fsdecode(path)) for root, path in found]


def grown(db: sqlite3.Connection, held: Sequence[ConversationRow]) -> list[ConversationRow]:
    """Return the sessions whose transcript changed since it was last captured."""
    known = dict(db.execute("SELECT id, fingerprint FROM captured").fetchall())
    return [row for row in held if known.get(row.key) != row.fingerprint]


def store_captured(db: sqlite3.Connection, sessions: Iterable[ConversationRow]) -> None:
    """Remember that all messages of some sessions were captured."""
    entries = [(row.key, row.fingerprint) for row in sessions]
    db.executemany("INSERT OR REPLACE INTO captured VALUES (?,?)", entries)


def copied(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return the standalone sessions that conversations were made of, as TOOL:ID, with the folder
    of each conversation and the time of its last activity."""
    query = "SELECT id, workspace, path, last_active FROM links WHERE relation = ?"
    rows = db.execute(query, (_COPY,))
    return [(id, f"{os.fsdecode(root)}/{os.fsdecode(path)}", at) for id, root, path, at in rows]


def bound(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the ids of the sessions that conversations take place in, with the folders of the
    conversations."""
    query = "SELECT id, workspace, path FROM links WHERE relation = ?"
    rows = db.execute(query, (_BINDING,))
    return [(id, f"{os.fsdecode(root)}/{os.fsdecode(path)}") for id, root, path in rows]
