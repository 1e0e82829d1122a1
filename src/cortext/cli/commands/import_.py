"""`cortext import`."""

from __future__ import annotations

import sys

import click

from cortext.app.import_file import Read, parse_export, put, read_export, refuse_large
from cortext.cli.options import check_store
from cortext.cli.text import clean
from cortext.errors import CortextError
from cortext.stores.port import SessionStore

_CHUNK = 1 << 20


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--as", "id", metavar="ID", help="Import it under this id.")
@click.option("--store", metavar="URL", callback=check_store, help="Import into a store.")
def command(files: tuple[str, ...], id: str | None, store: str | None) -> None:
    """Take conversations from files that `cortext export` wrote, of any of its formats.

    They go to the current workspace, under their own ids. FILE may be - for standard input.
    """
    if id is not None and len(files) > 1:
        raise click.UsageError("--as names one conversation: give one FILE")
    target = _open(store)
    failed = False
    for file in files:
        try:
            _import(file, target, id)
        except CortextError as error:
            if len(files) == 1:
                raise
            failed = True
            click.echo(f"not imported: {clean(_named(error, file), lines=False)}", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _open(store: str | None) -> SessionStore:
    from cortext.lifecycle.workspace import Workspace
    from cortext.stores.registry import open_session_store

    return open_session_store(store) if store else Workspace.find().store


def _import(file: str, target: SessionStore, id: str | None) -> None:
    session, warnings = _read(file)
    for warning in warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if id is not None:
        session.id = id
    done = "imported" if put(session, target) else "already here"
    click.echo(f"{done}: {session.id}")


def _read(file: str) -> Read:
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
