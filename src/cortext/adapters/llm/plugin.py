"""The plug-in for the command `llm`.

With the plug-in, cortext stores each response that llm logs, and `llm cortext` continues any
conversation that cortext knows. Only llm imports this module. It does so at every start, also in
programs that use no command.
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
"""The key of the original session id in llm's log database.

`llm cortext continue` writes this key to the `response_json` of the turn that it adds. The function
that replaces llm's `log_to_db` has an attribute of the same name, so that it is replaced only once.
"""
_PATIENCE = 30.0
"""Seconds to wait for other processes that write to llm's log database."""


@hookimpl
def register_commands(cli: Group) -> None:
    """Add the command `llm cortext`, and make cortext store each response that llm logs."""
    from cortext.adapters.llm.llm_commands import command

    cli.add_command(command)
    keep_what_is_logged()


@hookimpl
def register_models() -> None:
    """Make cortext store each response that llm logs, also without the commands of llm."""
    keep_what_is_logged()


def keep_what_is_logged() -> None:
    """Replace llm's `log_to_db`, so that cortext stores each response before llm logs it."""
    base = cast("Any", models._BaseResponse)  # pyright: ignore[reportPrivateUsage]
    log_to_db: Callable[[Response, Any], None] = base.log_to_db
    if hasattr(log_to_db, ORIGIN):
        return

    def kept(self: Response, db: Any) -> None:
        path = _file_of(db)
        if not path:
            log_to_db(self, db)  # a database in memory, for example for `--json` without a log
            return
        _keep(self, db)
        # llm first checks for a conversation and then creates it. Without a lock, all but one of
        # several processes would fail here and lose what they had to log.
        with one_at_a_time(path):
            log_to_db(self, db)

    setattr(kept, ORIGIN, log_to_db)
    base.log_to_db = kept


def _keep(response: Response, db: Any) -> None:
    """Store a response with cortext. Errors are only logged, so that the llm command succeeds."""
    import logging

    try:
        head: dict[str, Any] = {"working_dir": paths.current_folder()}
        if origin := _origin(response, db):
            head |= {"parent_id": origin, "title": _name(response)}
        log = LlmLog(None)
        with closing(log.kept):
            log.keep(response, head=head)
    except Exception as error:  # noqa: BLE001  llm must still log the response
        logging.getLogger("cortext.adapters").warning("cortext did not keep it: %s", error)


def _name(response: Response) -> str:
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
        return ""  # a new database has no tables yet, and therefore no conversation from cortext
    if row is None or not row[0] or ORIGIN not in row[0]:
        return ""
    import json

    found: Any = json.loads(row[0])
    return str(cast("Any", found)[ORIGIN]) if isinstance(found, dict) and ORIGIN in found else ""


def _file_of(db: Any) -> str:
    """Return the file path of an SQLite database, or "" if the database is in memory."""
    return next((row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main"), "")


@contextmanager
def one_at_a_time(path: str) -> Generator[None]:
    """Hold a lock on llm's log database at `path`, so that other processes wait.

    If locking fails, continue without a lock.
    """
    import logging

    with ExitStack() as held:
        try:
            held.enter_context(FileLock(f"{path}.lock", guards=path, wait=_PATIENCE))
        except (OSError, CortextError) as error:
            logging.getLogger("cortext.adapters").info("logged without a lock: %s", error)
        yield


def migrated(path: str) -> Any:
    """Open llm's log database at `path`, and update its tables for the installed version of llm."""
    import sqlite_utils
    from llm import migrations

    with one_at_a_time(path):
        db = sqlite_utils.Database(sqlite3.connect(path, timeout=_PATIENCE))
        cast("Any", migrations).migrate(db)
    return db
