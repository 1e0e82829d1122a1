"""The commands `/save`, `/export` and `/import`, which write and read files."""

from __future__ import annotations

import os

from cortext.cli.repl.repl_state import Repl, is_interactive, tell
from cortext.cli.views.bar_chart import counted
from cortext.durability.durable_files import storage_errors
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionStorageError
from cortext.features.transfer.export import format_for, target_file, write_export
from cortext.features.transfer.import_exported_file import read_export
from cortext.formats import log
from cortext.formats.exports.export_formats import encode


def save(repl: Repl, given: str) -> None:
    """Run `/save`: write the conversation to a new file.

    `given` is the path that the user typed. Its extension chooses the format; the default is
    markdown. Raises CortextError if the file exists.
    """
    _save(repl, given, overwrite=False)


def save_overwriting(repl: Repl, given: str) -> None:
    _save(repl, given, overwrite=True)


def export(repl: Repl, given: str) -> None:
    """Run `/export`: copy the session's file to a new file. `given` is the path that was typed."""
    _export(repl, given, overwrite=False)


def export_overwriting(repl: Repl, given: str) -> None:
    _export(repl, given, overwrite=True)


def import_turns(repl: Repl, given: str) -> None:
    """Run `/import`: add the turns (messages) of an exported conversation to this session.

    `given` is the typed path of the exported file. Turns that the session already has are skipped.
    """
    imported = read_export(_resolve_path(repl, given, "import"))
    for warning in imported.warnings:
        tell(f"warning: {warning}")
    known = {turn.id for turn in repl.session.turns()}
    turns = [turn for turn in imported.session.messages if turn.content]
    new = [turn for turn in turns if turn.id not in known]
    with repl.signals.hold():
        repl.session.take_in(new)
    added, skipped_count = len(new), len(turns) - len(new)
    skipped = (
        f"; {skipped_count} {_was_or_were(skipped_count)} already here" if skipped_count else ""
    )
    tell(f"{counted(added, 'turn')} of {imported.session.id} {_was_or_were(added)} added{skipped}.")


def _was_or_were(count: int) -> str:
    return "was" if count == 1 else "were"


def _save(repl: Repl, given: str, *, overwrite: bool) -> None:
    path = _resolve_path(repl, given, "save")
    try:
        format = format_for(path)
    except CortextError as error:
        error.hint = "use the extension .md, .html, .json or .jsonl"
        raise
    path = target_file(path, repl.session.id, format)
    _write(path, encode(repl.session.whole(), format), "save", overwrite=overwrite)


def _export(repl: Repl, given: str, *, overwrite: bool) -> None:
    path = target_file(_resolve_path(repl, given, "export"), repl.session.id, "jsonl")
    with storage_errors("read", repl.session.path):
        try:
            data = read_file(repl.session.path)
        except FileNotFoundError:
            data = log.encode(repl.session.whole())
    _write(path, data, "export", overwrite=overwrite)


def _resolve_path(repl: Repl, given: str, name: str) -> str:
    if len(given) > 1 and given[0] == given[-1] and given[0] in "'\"":
        given = given[1:-1]
    if not given:
        raise CortextError(f"/{name} needs a file name")
    return os.path.join(repl.cwd, os.path.expanduser(given))


def _write(path: str, data: bytes, name: str, *, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        hint = f"/{name}! overwrites it" if is_interactive() else "choose another name"
        raise SessionStorageError(f"{path} already exists", path=path, hint=hint)
    write_export(path, data, overwrite=overwrite)
    tell(f"Written: {path}")
