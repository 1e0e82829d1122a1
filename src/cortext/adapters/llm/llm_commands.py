"""The command `llm cortext`, which moves conversations between cortext and llm."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from cortext import paths
from cortext.adapters.llm.call_repair import repair_items
from cortext.adapters.llm.plugin import ORIGIN, lock_database, open_migrated
from cortext.adapters.missing_framework import needs
from cortext.catalog.row import ConversationRow
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.session_of_row import read
from cortext.features.listing.unique_conversation_names import Names
from cortext.features.search.name_or_text_lookup import find_conversation
from cortext.features.transfer.import_sqlite import open_program_store, put_items, read_database
from cortext.formats.llm_package_messages import KEY, items_of
from cortext.model.session import Session

with needs("llm"):
    import click
    import llm

_database = click.option(
    "-d", "--database", metavar="PATH", type=click.Path(), help="Path to log database"
)


def _with_plain_errors(work: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command, so that it shows an error in one sentence, without a traceback."""

    @functools.wraps(work)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            work(*args, **kwargs)
        except CortextError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise click.ClickException(f"{error}{hint}") from None
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise click.ClickException(f"llm's log database refused it: {error}") from None

    return wrapped


@click.group("cortext")
def command() -> None:
    """Conversations that cortext stores, from llm, Claude Code and other tools"""


@command.command("continue")
@click.argument("words", nargs=-1, required=True, metavar="ID|WORDS...")
@click.option("-m", "--model", "model_id", help="Model to continue with")
@_database
@_with_plain_errors
def continue_(words: tuple[str, ...], model_id: str | None, database: str | None) -> None:
    """Copy a conversation to the log of llm, so that `llm -c` continues it

    Name it by its id or by words of its title. The original conversation does not change.
    """
    row = _choose(" ".join(words))
    session, damages = read(row)
    for damage in damages:
        click.echo(f"warning: {damage.path}, line {damage.line}: {damage.detail}", err=True)
    path = database or str(llm.user_dir() / "logs.db")
    if _is_in_database(session, path):
        click.echo(session.metadata["session_id"])
        how = f"`llm --cid {session.metadata['session_id']}`"
        click.echo(f"llm already has this conversation. To continue it, run {how}.", err=True)
        return
    click.echo(put_conversation(session, path, model_id or llm.get_default_model()))
    click.echo("To continue it, run `llm -c`.", err=True)


@command.command("keep")
@_database
@_with_plain_errors
def keep(database: str | None) -> None:
    """Store the conversations that llm logged before this plug-in was installed

    Only new messages are added, so you can run the command again.
    """
    path = database or str(llm.user_dir() / "logs.db")
    store = open_program_store(None)
    new = 0
    found = read_database(path)
    for session, warnings in found:
        for warning in warnings:
            click.echo(f"warning: {warning}", err=True)
        new += put_items(session, store)
    click.echo(f"stored: {new} of {len(found)}; the others have no new messages")


def put_conversation(session: Session, path: str, model_id: str) -> str:
    """Write a session as a new conversation to llm's log database, and return the new id.

    `path` is the path of the database. Raises CortextError if the session has no messages, or if
    llm cannot use the model or the messages.
    """
    from llm.logs import LogStore

    items = repair_items(items_of(session.messages))
    if not items:
        raise CortextError(f"{session.id} has no messages")
    try:
        model = llm.get_model(model_id)
    except llm.UnknownModelError:
        hint = "`llm models` lists the models"
        raise CortextError(f"llm has no model {model_id}", hint=hint) from None
    if not model.supports_conversation:
        raise CortextError(
            f"{model_id} does not support conversations", hint="choose another model with -m"
        )
    asked = len(items) - 1 if items[-1]["role"] == "assistant" else len(items)
    data: Any = {
        "model": model_id,
        "prompt": {"messages": items[:asked]},
        "messages": items[asked:],
    }
    try:
        response = llm.Response.from_dict(data, model=model)
    except ValueError as error:
        raise CortextError(f"llm cannot continue {session.id}: {error}") from None
    response.conversation = llm.Conversation(model=model, name=session.title)
    response.response_json = {ORIGIN: session.id}
    with closing(open_migrated(path)) as db, lock_database(path), db.atomic():
        store: Any = LogStore(db)
        thread = store.create_thread(name=session.title, id=response.conversation.id)
        turn = store.log(response, thread)
        # llm logs the current time for such a response. Set the time of the session.
        when = session.updated_at.isoformat()
        db.execute("UPDATE turns SET datetime_utc = ? WHERE id = ?", [when, turn])
    return thread


def _choose(query: str) -> ConversationRow:
    result = find_conversation(ConversationList(paths.workspace_root()), query)
    found = result.rows
    if len(found) == 1 and not result.is_closest:
        return found[0]
    if not found or result.is_closest:
        error = SessionNotFoundError(query)
        error.hint = "`cortext list --all` lists all conversations"
        raise error
    names = Names(found)
    raise AmbiguousIdError(query, [names.of(row) for row in found])


def _is_in_database(session: Session, path: str) -> bool:
    """Return whether llm's log database at `path` already holds all messages of this session."""
    if session.metadata.get("framework") != KEY or not session.messages:
        return False
    query = "SELECT 1 FROM turns WHERE thread_id = ? AND tip_message_hash = ?"
    name = session.metadata.get("session_id")
    with closing(open_migrated(path)) as db:
        return db.execute(query, [name, session.messages[-1].id]).fetchone() is not None
