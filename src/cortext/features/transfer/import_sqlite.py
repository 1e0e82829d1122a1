"""Import sessions from a SQLite database of openai-agents (`SQLiteSession`) or of llm.

The items of openai-agents are stored unchanged, so that a program can continue the session through
our adapter. `import_llm` reads the databases of llm.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cortext import paths
from cortext.durability.foreign_database import explain_failure, find_tables, open_foreign
from cortext.errors import SessionNotFoundError, SessionStorageError, reason_of
from cortext.features.transfer.import_exported_file import ImportedFile
from cortext.features.transfer.import_llm import is_of_llm, read_llm
from cortext.formats.openai_items import KEY, message_of
from cortext.model import json_codec
from cortext.model.framework_key_ids import id_of
from cortext.model.ids import derived_id
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store

if TYPE_CHECKING:
    from sqlite3 import Connection

_MAGIC = b"SQLite format 3\0"
_TABLES = {"agent_sessions", "agent_messages"}
_BRANCH_TABLE = "message_structure"


def is_database(path: str) -> bool:
    """Return whether a file is an SQLite database; False if the file cannot be read."""
    if not os.path.isfile(path):
        return False  # Opening a pipe would wait for a writer.
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def open_program_store(url: str | None) -> SessionStore:
    """Return the store at a URL; by default, the store for sessions of programs."""
    return open_session_store(url or f"log:{paths.program_sessions()}")


def read_database(path: str) -> list[ImportedFile]:
    """Return the sessions in a SQLite database, each with warnings for the user.

    Raises SessionStorageError if the database cannot be read, or contains no sessions in a known
    format.
    """
    import sqlite3

    try:
        with open_foreign(path, timeout=5) as db:
            db.execute("BEGIN")  # a consistent snapshot, even while a program writes
            return list(_read_sessions(db, path))
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        why = reason_of(error) if isinstance(error, OSError) else explain_failure(error)
        raise SessionStorageError(f"{path} cannot be read: {why}", path=path) from None


def put_items(session: Session, store: SessionStore) -> bool:
    """Store an imported session, or add its new messages to the stored session.

    Return False if nothing is new. Raises SessionStorageError if a different conversation has the
    same id. That conversation does not change.
    """
    try:
        stored = store.read(session.id).session
    except SessionNotFoundError:
        store.save(session)
        return True
    if stored.metadata.get("session_id") != session.metadata["session_id"]:
        raise SessionStorageError(
            f"a different conversation with the id {session.id} already exists",
            hint="use --as ID to import it under another id",
        )
    known = {message.id for message in stored.messages}
    new = [message for message in session.messages if message.id not in known]
    return bool(new) and store.append(session.id, *new) > 0


def _read_sessions(db: Connection, path: str) -> Iterator[ImportedFile]:
    tables = find_tables(db)
    if is_of_llm(tables):
        yield from read_llm(db, path, tables)
        return
    if not tables >= _TABLES:
        raise SessionStorageError(
            f"{path} is a database without sessions of openai-agents or llm",
            path=path,
            hint="`cortext import` reads the tables agent_sessions and agent_messages of "
            "SQLiteSession, and the database that `llm logs path` prints",
        )
    rows = db.execute("SELECT session_id, created_at, updated_at FROM agent_sessions ORDER BY 1")
    for name, created, updated in rows.fetchall():
        warnings: list[str] = []
        if _BRANCH_TABLE in tables:
            warnings += _warn_about_branches(db, name)
        messages = list(_read_messages(db, name, warnings, branches=_BRANCH_TABLE in tables))
        metadata = {"framework": KEY, "session_id": name}
        session = Session(id_of(name), metadata=metadata, messages=messages)
        try:
            session.created_at, session.updated_at = parse_time(created), parse_time(updated)
        except ValueError as error:
            warnings.append(f"the time of the session is unknown: {error}")
        session.title = generate_title(session, WHOLE)
        yield ImportedFile(session, [f"{path}, session {name}: {warning}" for warning in warnings])


def _read_messages(
    db: Connection, name: str, warnings: list[str], *, branches: bool
) -> Iterator[SessionMessage]:
    query = "SELECT id, message_data, created_at FROM agent_messages WHERE session_id = ?"
    if branches:
        # A session with branches has a row for each message of each branch; use the main branch.
        query += (
            " AND (id IN (SELECT message_id FROM message_structure WHERE branch_id = 'main')"
            " OR id NOT IN (SELECT message_id FROM message_structure))"
        )
    for number, data, when in db.execute(f"{query} ORDER BY id", (name,)):
        try:
            yield _build_message(name, number, data, when)
        except ValueError as error:
            warnings.append(f"row {number} was not imported: {error}")


def _build_message(name: str, number: int, data: Any, when: Any) -> SessionMessage:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not isinstance(raw, bytes):
        raise ValueError("the row contains no text")
    # The same row always gets the same id, so another import recognises it.
    id = derived_id(KEY, name, str(number), raw.decode("utf-8", "replace"))
    fields: dict[str, Any] = {"id": id}
    if when is not None:
        fields["timestamp"] = parse_time(when)
    return message_of(json_codec.decode(raw), **fields)


def _warn_about_branches(db: Connection, name: str) -> list[str]:
    query = (
        "SELECT DISTINCT branch_id FROM message_structure"
        " WHERE session_id = ? AND branch_id != 'main'"
    )
    found = [str(branch) for (branch,) in db.execute(query, (name,))]
    return [f"the branch {branch} was not imported" for branch in sorted(found)]
