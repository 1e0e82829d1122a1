"""Check the SQLite databases that are derived from conversations.

These are the catalog, which lists conversations, the search index, and an index in each folder of
sessions. All of them can be built again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from functools import partial
from urllib.parse import quote

from cortext import paths
from cortext.catalog.database import remove_database
from cortext.features.doctor.problem import NOTHING, WARNING, CheckResult, Problem, Repair, Repaired

_LARGE = 64 << 20
"""The size in bytes above which only a deep check reads the whole database.

Other checks read only the header of such a database.
"""


def list_databases(folders: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the existing databases: the catalog and all indexes.

    `folders` are the folders with sessions, each of which may have an index.
    """
    found = [paths.catalog(), paths.words()]
    found += [f"{folder}/.cortext/index.sqlite3" for folder in folders]
    return (path for path in found if os.path.isfile(path))


def check_database(path: str, *, deep: bool = False) -> CheckResult:
    """Check a database, and return a problem if it is damaged.

    The repair deletes the database, and cortext builds it again when needed. A busy or locked
    database is no problem. If `deep` is false, only the header of a large database is read.
    """
    why = _find_damage(path, deep=deep)
    if not why:
        return NOTHING
    text = f"{path} is damaged: {why}"
    mend = f"remove {path}; cortext builds it again from the conversations when needed"
    hint = "nothing is lost: cortext builds this database from the conversations"
    problem = Problem(text, hint, WARNING, path, mend=mend)
    return CheckResult([problem], Repair(mend, partial(_repair, path)))


def _find_damage(path: str, *, deep: bool) -> str:
    pragma = "quick_check(1)" if deep or os.path.getsize(path) < _LARGE else "schema_version"
    if not os.path.getsize(path):
        return ""  # Another process is creating the database.
    try:
        db = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, timeout=1)
        try:
            answer = db.execute(f"PRAGMA {pragma}").fetchone()[0]
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if damaged else ""
    return "" if answer == "ok" or isinstance(answer, int) else str(answer)


def _repair(path: str) -> Repaired | None:
    if not os.path.exists(path) or not _find_damage(path, deep=True):
        return None
    remove_database(path)
    return Repaired(f"{path} was removed; cortext builds it again when needed", [])
