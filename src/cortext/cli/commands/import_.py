"""The command `cortext import`: import an exported file or a tool's session as a conversation."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import json_option, print_json
from cortext.cli.conversation_choice import choose
from cortext.cli.conversation_completion import complete_among
from cortext.cli.shell_quoting import quoted
from cortext.cli.store_option import check_store
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.list_view import short
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.unique_conversation_names import whole_path
from cortext.features.transfer.import_exported_file import (
    ImportedFile,
    parse_export,
    read_export,
    refuse_large,
    save_imported,
)
from cortext.features.transfer.import_session import find_imported, import_session, is_program_id
from cortext.features.transfer.import_sqlite import (
    is_database,
    open_program_store,
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


class _ImportResult(msgspec.Struct, frozen=True):
    """The result of the import of one conversation.

    `new` is True if the import created the conversation. If the conversation existed before,
    `added` is the number of messages that the import added.

    If the conversation is in another workspace, `elsewhere` is the folder of that workspace, and
    `path` is the folder of the conversation. Otherwise both are "". `in_store` is True if the
    conversation is in a store or in the folder for sessions of programs, and in no workspace.
    """

    id: str
    new: bool
    added: int = 0
    elsewhere: str = ""
    path: str = ""
    in_store: bool = False


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the tool sessions whose id or title matches the typed text, for shell completion.

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
@click.option("--as", "id", metavar="ID", help="Import the conversation under this id.")
@click.option("--store", metavar="URL", callback=check_store, help="Import into this store.")
@json_option
def command(files: tuple[str, ...], id: str | None, store: str | None, as_json: bool) -> None:
    """Import exported files or sessions as conversations of the current workspace.

    FILE is a file that `cortext export` wrote, in any format, or - for standard input. The
    conversation keeps its id.

    SESSION is a session of an AI tool, of `spawn` or of a program. Name it by its id, the start of
    its id, or words of its title. Later messages of a tool session are added to the conversation
    automatically. For any other session, import it again to add its later messages.

    Outside a workspace, conversations go to your personal workspace.

    Instead of a FILE, you can name a database of openai-agents (SQLiteSession) or of llm (`llm logs
    path`). Its sessions go to ~/.local/share/cortext/programs/, the folder for sessions of
    programs, or to --store. Import the database again to add new messages.
    """
    if id is not None and len(files) > 1:
        raise click.UsageError("--as works with only one FILE")
    target = None
    failed = False
    results: list[_ImportResult] = []
    for file in _join_title(files):
        try:
            if _is_file(file) and is_database(file):
                imported = _import_database(file, id, store)
            elif _is_file(file):
                target = target or _open_target(store)
                imported = [_import_file(file, target, id, in_store=store is not None)]
            else:
                imported = _import_session(file, id, store)
        except CortextError as error:
            if len(files) == 1:
                raise
            failed = True
            click.echo(
                f"not imported: {clean(_with_file_name(error, file), lines=False)}", err=True
            )
            continue
        results += imported
        for result in () if as_json else imported:
            _print_result(result)
    _say_personal(results)
    if as_json:
        print_json([{"id": result.id, "new": result.new} for result in results])
    if failed:
        raise click.exceptions.Exit(1)


def _is_file(name: str) -> bool:
    if name == "-" or os.path.lexists(name) or name.endswith(_ENDINGS):
        return True
    if "/" not in name:
        return False

    return not is_program_id(name)


def _join_title(names: tuple[str, ...]) -> tuple[str, ...]:
    """Join the arguments of the command into one title, if they are words of a title.

    They are words of a title if no argument is a file or contains a digit. Otherwise they are files
    or ids, and are returned unchanged.
    """
    ids = any(_is_file(name) or any(letter.isdigit() for letter in name) for name in names)
    return names if ids else (" ".join(names),)


def _import_session(query: str, id: str | None, store: str | None) -> list[_ImportResult]:
    """Import a session as a conversation. `query` is the id of the session, or words of its title.

    If the session was imported before, import nothing, and return a result for each existing
    conversation. Raises UsageError if `id` or `store` is given, because these options work only
    with files.
    """
    if id is not None or store is not None:
        raise click.UsageError("--as and --store work only with files, not with sessions")
    existing = find_imported(query)
    try:
        row = None if existing else choose(query)
    except SessionNotFoundError as error:
        error.hint = (
            "there is no file with this name either; `cortext list --all` shows all sessions"
        )
        raise
    if row is None or not row.tool:
        return [_existing_result(each) for each in (existing if row is None else [row])]
    imported = import_session(row)
    for note in imported.notes:
        click.echo(f"warning: {clean(note, lines=False)}", err=True)
    return [_ImportResult(imported.id, new=imported.is_new, added=imported.added)]


def _existing_result(row: ConversationRow) -> _ImportResult:
    """Return the import result for an existing conversation of this or another workspace."""
    if row.workspace == paths.workspace_root():
        return _ImportResult(row.key, new=False)
    return _ImportResult(row.key, new=False, elsewhere=row.workspace, path=whole_path(row))


def _print_result(result: _ImportResult) -> None:
    if result.added and not result.new:
        click.echo(f"updated: {result.id} ({counted(result.added, 'new message')})")
        return
    if not result.elsewhere:
        click.echo(f"{'imported' if result.new else 'already here'}: {result.id}")
        return
    click.echo(f"already in {short(result.elsewhere)}: {result.id}")
    # Use the path, because a conversation of this workspace may have the same id.
    copies = f"cortext export {quoted(result.path)} | cortext import -"
    click.echo(f"hint: `{copies}` copies it here", err=True)


def _say_personal(results: list[_ImportResult]) -> None:
    """Print a note if new conversations are in the personal workspace, outside any workspace."""
    count = sum(result.new and not result.in_store for result in results)
    if count and paths.workspace_root() == paths.personal_workspace():
        which = "the conversation is" if count == 1 else "the conversations are"
        click.echo(f"There is no workspace here; {which} in your personal workspace.", err=True)


def _import_database(file: str, id: str | None, store: str | None) -> list[_ImportResult]:
    """Import all sessions of the database `file` into a store.

    `id` is the value of the option `--as`: a new id for the imported session. Raises UsageError if
    `id` is given and the database does not have exactly one session.
    """
    sessions = read_database(file)
    if id is not None and len(sessions) != 1:
        raise click.UsageError(f"--as works with only one session, but {file} has {len(sessions)}")
    target = open_program_store(store)
    results: list[_ImportResult] = []
    for session, warnings in sessions:
        for warning in warnings:
            click.echo(f"warning: {clean(warning, lines=False)}", err=True)
        session.id = id or session.id
        results.append(_ImportResult(session.id, new=put_items(session, target), in_store=True))
    return results


def _open_target(store: str | None) -> SessionStore:
    return open_session_store(store) if store else Workspace.find().store


def _import_file(
    file: str, target: SessionStore, id: str | None, *, in_store: bool
) -> _ImportResult:
    session, warnings = _read_file(file)
    for warning in warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if id is not None:
        session.id = id
    saved = save_imported(session, target)
    if saved.note:
        click.echo(f"warning: {clean(saved.note, lines=False)}", err=True)
    return _ImportResult(session.id, new=saved.is_new, in_store=in_store)


def _read_file(file: str) -> ImportedFile:
    if file != "-":
        return read_export(file)
    chunks, size = list[bytes](), 0
    while chunk := sys.stdin.buffer.read(_CHUNK):
        size += len(chunk)
        refuse_large(size, "standard input")
        chunks.append(chunk)
    return parse_export(b"".join(chunks), "standard input")


def _with_file_name(error: CortextError, file: str) -> str:
    text = str(error)
    return text if file in text else f"{file}: {text}"
