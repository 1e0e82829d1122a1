"""`cortext import`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import check_store, complete_among, json_option, print_json
from cortext.cli.select_conversation import choose
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import short
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.conversation_names import whole_path
from cortext.features.transfer.import_file import (
    ImportedFile,
    parse_export,
    read_export,
    refuse_large,
    save_imported,
)
from cortext.features.transfer.import_session import already_kept, import_session, is_own_id
from cortext.features.transfer.import_sqlite import (
    is_database,
    open_programs,
    put_items,
    read_database,
)
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store
from cortext.workspace.workspace import Workspace

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_CHUNK = 1 << 20
_ENDINGS = (".md", ".html", ".json", ".jsonl", ".db")


class _Done(NamedTuple):
    """A conversation that there is now; `new` if it was not before. `elsewhere` is the workspace
    that has it, where that is not this one, and `path` its folder there."""

    id: str
    new: bool
    elsewhere: str = ""
    path: str = ""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return matching sessions of tools as `complete_id` does, for shell completion.

    If no session matches, let the shell complete file names.
    """
    from click.shell_completion import CompletionItem

    rows = ConversationList(paths.workspace_root()).list().rows
    sessions = complete_among([row for row in rows if row.tool], incomplete)
    return sessions or [CompletionItem(incomplete, type="file")]


@click.command("import")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...|SESSION...",
    shell_complete=_complete,
)
@click.option("--as", "id", metavar="ID", help="Import it under this id.")
@click.option("--store", metavar="URL", callback=check_store, help="Import into a store.")
@json_option
def command(files: tuple[str, ...], id: str | None, store: str | None, as_json: bool) -> None:
    """Take conversations from files that `cortext export` wrote, of any of its formats, or make
    one of a session of an AI tool, of `spawn`, or of a program that keeps documents.

    They go to the current workspace; those of files under their own ids. FILE may be - for
    standard input. SESSION is its own id, the beginning of it, or words of its title. Of one that
    is no AI tool's, another import takes what was said since.

    FILE may also be a database of openai-agents, as its SQLiteSession makes it, or of llm (`llm
    logs path`). Its sessions go where programs keep theirs, or to --store, and another import takes
    what is new.
    """
    if id is not None and len(files) > 1:
        raise click.UsageError("--as names one conversation: give one FILE")
    target = None
    failed = False
    done: list[_Done] = []
    for file in _joined(files):
        try:
            if _is_file(file) and is_database(file):
                found = _import_database(file, id, store)
            elif _is_file(file):
                target = target or _open(store)
                found = [_import(file, target, id)]
            else:
                found = _import_session(file, id, store)
        except CortextError as error:
            if len(files) == 1:
                raise
            failed = True
            click.echo(f"not imported: {clean(_named(error, file), lines=False)}", err=True)
            continue
        done += found
        for one in () if as_json else found:
            _say(one)
    if as_json:
        print_json([{"id": one.id, "new": one.new} for one in done])
    if failed:
        raise click.exceptions.Exit(1)


def _is_file(name: str) -> bool:
    if name == "-" or os.path.lexists(name) or name.endswith(_ENDINGS):
        return True
    if "/" not in name:
        return False

    return not is_own_id(name)


def _joined(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return words that are neither files nor ids as one title; otherwise return `names` unchanged.

    A word with a digit may be an id.
    """
    ids = any(_is_file(name) or any(letter.isdigit() for letter in name) for name in names)
    return names if ids else (" ".join(names),)


def _import_session(query: str, id: str | None, store: str | None) -> list[_Done]:
    """Make a conversation of the tool session that `query` names.

    If the session already belongs to conversations, return these instead.
    """
    if id is not None or store is not None:
        raise click.UsageError("--as and --store are for files; a session gets its own id")
    kept = already_kept(query)
    try:
        row = None if kept else choose(query)
    except SessionNotFoundError as error:
        error.hint = "nor is there such a file; `cortext list --all` shows all sessions"
        raise
    if row is None or not row.tool:
        return [_kept(each) for each in (kept if row is None else [row])]
    imported = import_session(row)
    for note in imported.notes:
        click.echo(f"warning: {clean(note, lines=False)}", err=True)
    return [_Done(imported.id, new=imported.is_new)]


def _kept(row: ConversationRow) -> _Done:
    """Return the result for a conversation that existed before the import, in any workspace."""
    if row.workspace == paths.workspace_root():
        return _Done(row.key, new=False)
    return _Done(row.key, new=False, elsewhere=row.workspace, path=whole_path(row))


def _say(done: _Done) -> None:
    if not done.elsewhere:
        click.echo(f"{'imported' if done.new else 'already here'}: {done.id}")
        return
    click.echo(f"already in {short(done.elsewhere)}: {done.id}")
    # Another one may have its id here.
    copies = f"cortext export {quoted(done.path)} | cortext import -"
    click.echo(f"hint: `{copies}` copies it here", err=True)


def _import_database(file: str, id: str | None, store: str | None) -> list[_Done]:
    """Import all sessions of a database into a store.

    Raises UsageError if `--as` gives an id and the database does not have exactly one session.
    """
    found = read_database(file)
    if id is not None and len(found) != 1:
        raise click.UsageError(f"--as names one conversation: {file} has {len(found)}")
    target = open_programs(store)
    done: list[_Done] = []
    for session, warnings in found:
        for warning in warnings:
            click.echo(f"warning: {clean(warning, lines=False)}", err=True)
        session.id = id or session.id
        done.append(_Done(session.id, new=put_items(session, target)))
    return done


def _open(store: str | None) -> SessionStore:
    return open_session_store(store) if store else Workspace.find().store


def _import(file: str, target: SessionStore, id: str | None) -> _Done:
    session, warnings = _read(file)
    for warning in warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if id is not None:
        session.id = id
    new = save_imported(session, target)
    return _Done(session.id, new=new)


def _read(file: str) -> ImportedFile:
    if file != "-":
        return read_export(file)
    chunks, size = list[bytes](), 0
    while chunk := sys.stdin.buffer.read(_CHUNK):
        size += len(chunk)
        refuse_large(size, "standard input")
        chunks.append(chunk)
    return parse_export(b"".join(chunks), "standard input")


def _named(error: CortextError, file: str) -> str:
    text = str(error)
    return text if file in text else f"{file}: {text}"
