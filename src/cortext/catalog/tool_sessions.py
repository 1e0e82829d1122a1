"""The sessions of AI tools, as the catalog lists them: from the tools' own folders, and from our
archive what the tools do not have any more.

A refresh costs a `stat` for each transcript, and a glance at each that changed. This module is
imported by every list, so what glances is imported when something changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cortext.catalog.database import Unreadable
from cortext.catalog.packed_rows import Packs
from cortext.catalog.row import AUR, DOCUMENT, Listed, tool_root
from cortext.catalog.workspace_scan import FRESH_NS
from cortext.tools import scan
from cortext.tools.deleted_sessions import forgotten
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from cortext.catalog.tool_rows import Found

T = TypeVar("T")
_PACKS = Packs(
    "tools",
    ("tool || ':' || CAST(cwd AS TEXT)", "path", "id", "text"),
    ("last_active",),
    where="text <> ''",
)
SCHEMA = f"""
CREATE TABLE homes (tool TEXT, home BLOB, print BLOB, PRIMARY KEY (tool, home)) WITHOUT ROWID;
CREATE TABLE tools (number INTEGER PRIMARY KEY, tool TEXT, id TEXT, print BLOB, path BLOB,
    cwd BLOB, last_active INTEGER, text TEXT, UNIQUE (tool, id));
CREATE TABLE native (root BLOB, folder TEXT, name TEXT, id TEXT, last_active INTEGER);
CREATE INDEX native_of ON native (root, folder);
CREATE TABLE taken (id TEXT PRIMARY KEY, print TEXT) WITHOUT ROWID;
{_PACKS.schema}
"""
_PUT = """
INSERT INTO tools (tool, id, print, path, cwd, last_active, text) VALUES (?,?,?,?,?,?,?)
ON CONFLICT (tool, id) DO UPDATE SET
    print = excluded.print, path = excluded.path, cwd = excluded.cwd,
    last_active = excluded.last_active, text = excluded.text"""
_AS_IS = "surrogatepass"
# Listed(…) itself takes as long as the look at a file does.
_new: Callable[[type[Listed], tuple[str, str, str, str, int, str]], Listed] = tuple[
    Any, ...
].__new__


class Refreshed(NamedTuple):
    """The sessions of tools; whether anything was new; how many transcripts nobody looked at yet,
    because there was no time; whether there is any transcript at all; and of the sessions that
    conversations hold, those of which it is not known that all was taken in."""

    rows: list[Listed]
    changed: bool
    left: int
    there: bool
    grown: Sequence[Listed] = ()


class Row(NamedTuple):
    """What the catalog keeps of one session. Without `text` there is nothing to list in it."""

    tool: str
    id: str
    print: bytes
    path: bytes
    cwd: bytes
    last_active: int
    text: str

    def listed(self) -> Listed:
        root = tool_root(self.tool, self.cwd.decode("utf-8", _AS_IS))
        path = os.fsdecode(self.path)
        return Listed(root, path, self.id, "paused", self.last_active, self.text)


Looks = dict[tuple[str, str], scan.Look]


def look_around() -> Looks:
    """How the folder of each tool looks now, and our copy of it."""
    return {(tool, home): scan.look(tool, home) for tool in tool_names() for home in _homes(tool)}


def refresh(
    run: Callable[[Callable[[sqlite3.Connection], Any]], Any],
    looks: Looks,
    began: int,
    patience: float | None,
) -> Refreshed:
    """Bring the catalog up to date with how the tools' folders look, the latest transcripts first,
    for about `patience` seconds. What a person deleted is not listed, also where the tool has it
    still."""
    homes, gone = run(_load_homes), _forgotten()
    there = any(look.print for look in looks.values())
    changed = {key[0] for key, now in looks.items() if homes.get(key, b"") != now.print}
    if not changed:
        return Refreshed(run(lambda db: _load_listed(db, gone)), changed=False, left=0, there=there)
    from cortext.catalog.tool_rows import glance_at

    looks = {key: now for key, now in looks.items() if key[0] in changed}
    found = glance_at(looks, run(_prints), gone, patience)
    run(lambda db: _store(db, found, looks, began))
    rows = run(lambda db: _load_listed(db, gone))
    return Refreshed(rows, bool(found.new or found.gone), found.left, there)


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


def _load_homes(db: sqlite3.Connection) -> dict[tuple[str, str], bytes]:
    try:
        return {
            (tool, os.fsdecode(home)): bytes(print)
            for tool, home, print in db.execute("SELECT tool, home, print FROM homes")
        }
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a session cannot be read: {error}") from None


def _prints(db: sqlite3.Connection) -> dict[tuple[str, str], bytes]:
    rows = db.execute("SELECT tool, id, print FROM tools")
    return {(tool, id): print for tool, id, print in rows}


def _load(db: sqlite3.Connection) -> dict[tuple[str, str], Row]:
    try:
        rows = db.execute("SELECT tool, id, print, path, cwd, last_active, text FROM tools")
        return {(row[0], row[1]): Row._make(row) for row in rows}
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a session cannot be read: {error}") from None


def _load_listed(db: sqlite3.Connection, gone: set[tuple[str, str]]) -> list[Listed]:
    """As `_listed`, of all rows: with many of them this is what a list takes its time for."""
    try:
        (roots, paths, ids, texts), (active,) = _PACKS.load(db)
    except UnicodeDecodeError:
        return _listed(_load(db).values(), gone)  # a name is not UTF-8
    fields = zip(roots, paths, ids, repeat("paused"), active, texts, strict=False)
    rows = [*map(_new, repeat(Listed), fields)]
    return [row for row in rows if (row.tool, row.key) not in gone] if gone else rows


def _store(
    db: sqlite3.Connection,
    found: Found,
    looks: Looks,
    began: int,
) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.executemany("DELETE FROM tools WHERE tool = ? AND id = ?", found.gone)
    db.executemany(_PUT, found.new)
    _PACKS.fill(db)
    for (tool, home), now in looks.items():
        # What was written just now may be written again within the same tick of the clock.
        settled = not found.left and now.latest < began - FRESH_NS
        print = now.print if settled else b"just now"
        row = (tool, os.fsencode(home), print)
        db.execute("INSERT OR REPLACE INTO homes VALUES (?,?,?)", row)


def _listed(rows: Iterable[Row], gone: set[tuple[str, str]]) -> list[Listed]:
    try:
        return [row.listed() for row in rows if row.text and (row.tool, row.id) not in gone]
    except (TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"a session cannot be read: {error}") from None


def forget_unmasked(db: sqlite3.Connection) -> None:
    """Have those sessions looked at again whose title has a secret: an earlier version kept it."""
    from cortext.catalog.sanitize import told

    found = [row for row in _load(db).values() if row.text]
    bad = [row for row in found if told(title := row.listed().title) != title]
    db.executemany("DELETE FROM tools WHERE tool = ? AND id = ?", [(r.tool, r.id) for r in bad])
    db.executemany("DELETE FROM homes WHERE tool = ?", [(tool,) for tool in {r.tool for r in bad}])


def put_native(
    db: sqlite3.Connection, root: str, days: Iterable[tuple[str, Iterable[Listed]]]
) -> None:
    """Remember which sessions the conversations of some days hold, and which they were made of."""
    key = os.fsencode(root)
    for folder, rows in days:
        db.execute("DELETE FROM native WHERE root = ? AND folder = ?", (key, folder))
        db.executemany(
            "INSERT INTO native VALUES (?,?,?,?,?)",
            [
                (key, folder, row.id, id, row.last_active)
                for row in rows
                for id in (*row.native, *made_of(row))
            ],
        )


def grown(db: sqlite3.Connection, held: Sequence[Listed]) -> list[Listed]:
    """Those of the sessions that are not as they were when they were last taken in."""
    known = dict(db.execute("SELECT id, print FROM taken").fetchall())
    return [row for row in held if known.get(row.key) != row.lines]


def put_taken(db: sqlite3.Connection, sessions: Iterable[Listed]) -> None:
    """Remember that all that was said in some sessions was taken in."""
    entries = [(row.key, row.lines) for row in sessions]
    db.executemany("INSERT OR REPLACE INTO taken VALUES (?,?)", entries)


def made_of(row: Listed) -> tuple[str, ...]:
    """The session of `aur spawn`, or of a program, that a conversation was made of, as TOOL:ID."""
    # The parent of most rows is nothing: to look for the sign is faster than to take it out.
    if f"\n{AUR}:" not in row.text and f"\n{DOCUMENT}:" not in row.text:
        return ()
    parent = row.parent_id
    return (parent,) if parent.partition(":")[0] in (AUR, DOCUMENT) else ()


def copied(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """As `bound`, the sessions that conversations were made of, TOOL:ID, and when those
    conversations were last active."""
    rows = db.execute("SELECT id, root, folder, name, last_active FROM native WHERE id LIKE '%:%'")
    return [(id, f"{os.fsdecode(root)}/{folder}/{name}", at) for id, root, folder, name, at in rows]


def bound(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """The ids of the sessions that conversations hold, with the folders of the conversations."""
    rows = db.execute("SELECT id, root, folder, name FROM native")
    return [(id, f"{os.fsdecode(root)}/{folder}/{name}") for id, root, folder, name in rows]
