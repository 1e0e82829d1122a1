"""The plug-in for the command `llm`.

cortext stores what llm logs, and `llm cortext` continues any conversation that cortext knows. Only
llm imports this module. It does so at every start, also in programs that need no commands.
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
"""In what llm has of the provider's answer, for a turn that `llm cortext` put there: the session
that it was made of."""
_PATIENCE = 30.0
"""Seconds to wait for others who log."""


@hookimpl
def register_commands(cli: Group) -> None:
    """Add the command `llm cortext`, and store what is logged."""
    from cortext.adapters.llm.llm_commands import command

    cli.add_command(command)
    keep_what_is_logged()


@hookimpl
def register_models() -> None:
    """Keep what a program logs that never asks for commands."""
    keep_what_is_logged()


def keep_what_is_logged() -> None:
    """Have every response that llm logs in a file kept in our store, before llm itself does."""
    base = cast("Any", models._BaseResponse)  # pyright: ignore[reportPrivateUsage]
    log_to_db: Callable[[Response, Any], None] = base.log_to_db
    if hasattr(log_to_db, ORIGIN):
        return

    def kept(self: Response, db: Any) -> None:
        path = _file_of(db)
        if not path:
            log_to_db(self, db)  # only looked at, as for `--json` without a log
            return
        _keep(self, db)
        # llm looks whether a conversation is there and then makes it: of several at once all but
        # one would fail, and what they had to log would be lost.
        with one_at_a_time(path):
            log_to_db(self, db)

    setattr(kept, ORIGIN, log_to_db)
    base.log_to_db = kept


def _keep(response: Response, db: Any) -> None:
    """Keep it, or say why not: what a person asked of llm goes on."""
    import logging

    try:
        head: dict[str, Any] = {"working_dir": paths.current_folder()}
        if origin := _origin(response, db):
            head |= {"parent_id": origin, "title": _name(response)}
        log = LlmLog(None)
        with closing(log.kept):
            log.keep(response, head=head)
    except Exception as error:  # noqa: BLE001  of a plug-in: llm must log what it can
        logging.getLogger("cortext.adapters").warning("cortext did not keep it: %s", error)


def _name(response: Response) -> str:
    return (response.conversation.name if response.conversation else "") or ""


def _origin(response: Response, db: Any) -> str:
    """The session that a conversation was made of by `llm cortext`; "" if it was begun in llm."""
    conversation = response.conversation
    if conversation is None:
        return ""
    query = "SELECT response_json FROM turns WHERE thread_id = ? ORDER BY id LIMIT 1"
    try:
        row = db.execute(query, [conversation.id]).fetchone()
    except sqlite3.OperationalError:
        return ""  # a new database has no tables yet, and so no conversation of ours
    if row is None or not row[0] or ORIGIN not in row[0]:
        return ""
    import json

    found: Any = json.loads(row[0])
    return str(cast("Any", found)[ORIGIN]) if isinstance(found, dict) and ORIGIN in found else ""


def _file_of(db: Any) -> str:
    """The path of a database; "" if it is in memory."""
    return next((row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main"), "")


@contextmanager
def one_at_a_time(path: str) -> Generator[None]:
    """Wait for others who log there. Where no lock can be had, llm does what it would without."""
    import logging

    with ExitStack() as held:
        try:
            held.enter_context(FileLock(f"{path}.lock", guards=path, wait=_PATIENCE))
        except (OSError, CortextError) as error:
            logging.getLogger("cortext.adapters").info("logged without a lock: %s", error)
        yield


def migrated(path: str) -> Any:
    """llm's database of logs, with the tables that this llm has."""
    import sqlite_utils
    from llm import migrations

    with one_at_a_time(path):
        db = sqlite_utils.Database(sqlite3.connect(path, timeout=_PATIENCE))
        cast("Any", migrations).migrate(db)
    return db
