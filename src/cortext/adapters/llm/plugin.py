"""The plug-in for the command `llm`.

With the plug-in, cortext stores each response that llm logs, and `llm cortext` continues any
conversation that cortext knows. Only llm imports this module. llm imports it at every start, also
in a program that uses llm as a library.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, cast

from cortext import paths
from cortext.adapters.llm.llm_log import LlmLog
from cortext.adapters.missing_framework import needs
from cortext.durability.file_lock import FileLock
from cortext.errors import CortextError

with needs("llm"):
    from llm import hookimpl, models

if TYPE_CHECKING:
    from click import Group
    from llm.models import (
        _BaseResponse as Response,  # pyright: ignore[reportPrivateUsage]
    )

ORIGIN = "cortext"
"""The key under which llm's log database stores the id of the original session.

`llm cortext continue` writes this key to the `response_json` of the turn that it adds. An attribute
with the same name marks the function with which cortext replaced llm's `log_to_db`.
"""
_TIMEOUT = 30.0
"""Seconds to wait for other processes that write to llm's log database."""


@hookimpl
def register_commands(cli: Group) -> None:
    """Add the command `llm cortext`, and make cortext store each response that llm logs."""
    from cortext.adapters.llm.llm_commands import command

    cli.add_command(command)
    replace_log_to_db()


@hookimpl
def register_models() -> None:
    """Make cortext store each response that llm logs, also without the commands of llm."""
    replace_log_to_db()


def replace_log_to_db() -> None:
    """Replace llm's `log_to_db`, so that cortext stores each response before llm logs it."""
    base = cast("Any", models._BaseResponse)  # pyright: ignore[reportPrivateUsage]
    log_to_db: Callable[[Response, Any], None] = base.log_to_db
    if hasattr(log_to_db, ORIGIN):
        return

    def kept(self: Response, db: Any) -> None:
        path = _database_path(db)
        if not path:
            log_to_db(self, db)  # a database in memory, for example for `--json` without a log
            return
        _store(self, db)
        # llm first checks for a conversation and then creates it. Without a lock, several processes
        # would try to create it. All but one would fail, and their responses would be lost.
        with lock_database(path):
            log_to_db(self, db)

    setattr(kept, ORIGIN, log_to_db)
    base.log_to_db = kept


def _store(response: Response, db: Any) -> None:
    """Store a response with cortext. Errors are only logged, so that the llm command succeeds."""
    import logging

    try:
        head: dict[str, Any] = {"working_dir": paths.current_folder()}
        if origin := _origin(response, db):
            head |= {"parent_id": origin, "title": _conversation_name(response)}
        log = LlmLog(None)
        with closing(log.kept):
            log.keep(response, head=head)
    except Exception as error:  # noqa: BLE001  llm must still log the response
        logging.getLogger("cortext.adapters").warning(
            "cortext could not store the conversation: %s", error
        )


def _conversation_name(response: Response) -> str:
    return (response.conversation.name if response.conversation else "") or ""


def _origin(response: Response, db: Any) -> str:
    """Return the id of the session that `llm cortext continue` copied to this conversation.

    Returns "" if the conversation began in llm.
    """
    conversation = response.conversation
    if conversation is None:
        return ""
    query = "SELECT response_json FROM turns WHERE thread_id = ? ORDER BY id LIMIT 1"
    try:
        row = db.execute(query, [conversation.id]).fetchone()
    except sqlite3.OperationalError:
        return ""  # a new database has no tables yet
    if row is None or not row[0] or ORIGIN not in row[0]:
        return ""
    import json

    found: Any = json.loads(row[0])
    return str(cast("Any", found)[ORIGIN]) if isinstance(found, dict) and ORIGIN in found else ""


def _database_path(db: Any) -> str:
    """Return the file path of an SQLite database, or "" if the database is in memory."""
    return next((row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main"), "")


@contextmanager
def lock_database(path: str) -> Generator[None]:
    """Return a context manager that locks llm's log database at `path` against other processes.

    If locking fails, the context runs without a lock.
    """
    import logging

    with ExitStack() as held:
        try:
            held.enter_context(FileLock(f"{path}.lock", guards=path, wait=_TIMEOUT))
        except (OSError, CortextError) as error:
            logging.getLogger("cortext.adapters").info("logged without a lock: %s", error)
        yield


def open_migrated(path: str) -> Any:
    """Open llm's log database at `path`, and update its tables for the installed version of llm."""
    import sqlite_utils
    from llm import migrations

    with lock_database(path):
        db = sqlite_utils.Database(sqlite3.connect(path, timeout=_TIMEOUT))
        cast("Any", migrations).migrate(db)
    return db
