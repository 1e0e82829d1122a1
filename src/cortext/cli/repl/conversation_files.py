"""The commands `/save`, `/export` and `/import`, which write and read files."""

from __future__ import annotations

import os

from cortext.cli.repl.repl_state import Repl, has_person, tell
from cortext.cli.views.bar_chart import counted
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import storage_errors
from cortext.errors import CortextError, SessionStorageError
from cortext.features.transfer.export import format_for, target_file, write_export
from cortext.features.transfer.import_file import read_export
from cortext.formats import log
from cortext.formats.exports.export_codec import encode


def save(repl: Repl, given: str) -> None:
    """Run `/save`: write the conversation to a new file.

    `given` is the path that the user typed. Its extension chooses the format; the default is
    markdown. Raises CortextError if the file exists.
    """
    _save(repl, given, over=False)


def save_over(repl: Repl, given: str) -> None:
    _save(repl, given, over=True)


def export(repl: Repl, given: str) -> None:
    """Run `/export`: write a copy of the session's file to a new file."""
    _export(repl, given, over=False)


def export_over(repl: Repl, given: str) -> None:
    _export(repl, given, over=True)


def take_in(repl: Repl, given: str) -> None:
    """Run `/import`: add the turns of an exported conversation to this session.

    Skip turns that are already in this session.
    """
    found = read_export(_path(repl, given, "import"))
    for warning in found.warnings:
        tell(f"warning: {warning}")
    known = {turn.id for turn in repl.session.turns()}
    turns = [turn for turn in found.session.messages if turn.content]
    new = [turn for turn in turns if turn.id not in known]
    with repl.signals.hold():
        repl.session.take_in(new)
    added, known_already = len(new), len(turns) - len(new)
    here = f"; {known_already} {_were(known_already)} here already" if known_already else ""
    tell(f"{counted(added, 'turn')} of {found.session.id} {_were(added)} added{here}.")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _save(repl: Repl, given: str, *, over: bool) -> None:
    path = _path(repl, given, "save")
    try:
        format = format_for(path)
    except CortextError as error:
        error.hint = "name it .md, .html, .json or .jsonl"
        raise
    path = target_file(path, repl.session.id, format)
    _write(path, encode(repl.session.whole(), format), "save", over=over)


def _export(repl: Repl, given: str, *, over: bool) -> None:
    path = target_file(_path(repl, given, "export"), repl.session.id, "jsonl")
    with storage_errors("read", repl.session.path):
        try:
            data = read_file(repl.session.path)
        except FileNotFoundError:
            data = log.encode(repl.session.whole())
    _write(path, data, "export", over=over)


def _path(repl: Repl, given: str, name: str) -> str:
    if len(given) > 1 and given[0] == given[-1] and given[0] in "'\"":
        given = given[1:-1]
    if not given:
        raise CortextError(f"/{name} needs the name of a file")
    return os.path.join(repl.cwd, os.path.expanduser(given))


def _write(path: str, data: bytes, name: str, *, over: bool) -> None:
    if not over and os.path.lexists(path):
        hint = f"/{name}! writes over it" if has_person() else "give it another name"
        raise SessionStorageError(f"{path} is there already", path=path, hint=hint)
    write_export(path, data, overwrite=over)
    tell(f"written: {path}")
