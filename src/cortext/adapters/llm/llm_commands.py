"""The command `llm cortext`, which moves conversations between cortext and llm."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from cortext import paths
from cortext.adapters.llm.call_repair import mended
from cortext.adapters.llm.plugin import ORIGIN, migrated, one_at_a_time
from cortext.adapters.missing_framework import needs
from cortext.catalog.row import ConversationRow
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.conversation_names import Names
from cortext.features.listing.session_of_row import read
from cortext.features.search.find_conversation import find_conversation
from cortext.features.transfer.import_sqlite import open_programs, put_items, read_database
from cortext.formats.llm_messages import KEY, items_of
from cortext.model.session import Session

with needs("llm"):
    import click
    import llm

_database = click.option(
    "-d", "--database", metavar="PATH", type=click.Path(), help="Path to log database"
)


def _plainly(work: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that its errors are shown in one sentence, without a traceback."""

    @functools.wraps(work)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            work(*args, **kwargs)
        except CortextError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise click.ClickException(f"{error}{hint}") from None
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise click.ClickException(f"llm's log does not take it: {error}") from None

    return wrapped


@click.group("cortext")
def command() -> None:
    """Conversations that cortext keeps: of llm, of Claude Code and others"""


@command.command("continue")
@click.argument("words", nargs=-1, required=True, metavar="ID|WORDS...")
@click.option("-m", "--model", "model_id", help="Model to go on with")
@_database
@_plainly
def continue_(words: tuple[str, ...], model_id: str | None, database: str | None) -> None:
    """Put a conversation into the log of llm: `llm -c` goes on with it

    It is named by its id or by words of its title. It stays as it is where it was had.
    """
    row = _choose(" ".join(words))
    session, damages = read(row)
    for damage in damages:
        click.echo(f"warning: {damage.path}, line {damage.line}: {damage.detail}", err=True)
    path = database or str(llm.user_dir() / "logs.db")
    if _is_there(session, path):
        click.echo(session.metadata["session_id"])
        how = f"`llm --cid {session.metadata['session_id']}`"
        click.echo(f"llm has it already: {how} goes on with it", err=True)
        return
    click.echo(put_conversation(session, path, model_id or llm.get_default_model()))
    click.echo("`llm -c` goes on with it", err=True)


@command.command("keep")
@_database
@_plainly
def keep(database: str | None) -> None:
    """Keep what llm logged before this plug-in was there

    Only what is new is taken: it can be done again.
    """
    path = database or str(llm.user_dir() / "logs.db")
    store = open_programs(None)
    new = 0
    found = read_database(path)
    for session, warnings in found:
        for warning in warnings:
            click.echo(f"warning: {warning}", err=True)
        new += put_items(session, store)
    click.echo(f"kept: {new} of {len(found)}; in the others nothing is new")


def put_conversation(session: Session, path: str, model_id: str) -> str:
    """Write a session as a new conversation to llm's log database, and return the new id.

    `path` is the path of the database. Raises CortextError if the session has no messages, or if
    llm cannot use the model or the messages.
    """
    from llm.logs import LogStore

    items = mended(items_of(session.messages))
    if not items:
        raise CortextError(f"nothing was said in {session.id}")
    try:
        model = llm.get_model(model_id)
    except llm.UnknownModelError:
        hint = "`llm models` lists those that there are"
        raise CortextError(f"llm has no model {model_id}", hint=hint) from None
    if not model.supports_conversation:
        raise CortextError(f"{model_id} does not support conversations", hint="name another by -m")
    asked = len(items) - 1 if items[-1]["role"] == "assistant" else len(items)
    data: Any = {
        "model": model_id,
        "prompt": {"messages": items[:asked]},
        "messages": items[asked:],
    }
    try:
        response = llm.Response.from_dict(data, model=model)
    except ValueError as error:
        raise CortextError(f"llm cannot go on with {session.id}: {error}") from None
    response.conversation = llm.Conversation(model=model, name=session.title)
    response.response_json = {ORIGIN: session.id}
    with closing(migrated(path)) as db, one_at_a_time(path), db.atomic():
        store: Any = LogStore(db)
        thread = store.create_thread(name=session.title, id=response.conversation.id)
        turn = store.log(response, thread)
        # A response that was loaded has no time of its own.
        when = session.updated_at.isoformat()
        db.execute("UPDATE turns SET datetime_utc = ? WHERE id = ?", [when, turn])
    return thread


def _choose(query: str) -> ConversationRow:
    found = find_conversation(ConversationList(paths.workspace_root()), query).rows
    if len(found) == 1:
        return found[0]
    if not found:
        error = SessionNotFoundError(query)
        error.hint = "`cortext list --all` shows all that there are"
        raise error
    names = Names(found)
    raise AmbiguousIdError(query, [names.of(row) for row in found])


def _is_there(session: Session, path: str) -> bool:
    """Return whether llm's log database at `path` already holds all messages of this session."""
    if session.metadata.get("framework") != KEY or not session.messages:
        return False
    query = "SELECT 1 FROM turns WHERE thread_id = ? AND tip_message_hash = ?"
    name = session.metadata.get("session_id")
    with closing(migrated(path)) as db:
        return db.execute(query, [name, session.messages[-1].id]).fetchone() is not None
