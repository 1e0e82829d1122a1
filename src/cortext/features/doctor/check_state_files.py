"""What cortext writes down for itself beside the conversations: lists of folders, what is known of
copies, what was deleted, a key, an export of an index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from cortext import paths
from cortext.catalog.document_index import SessionIndex
from cortext.durability.file_lock import FileLock
from cortext.durability.incremental_copy import Known
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import remove_if_there, replace, set_aside, storage_errors
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.doctor.problem import (
    NOTHING,
    PROBLEM,
    WARNING,
    Found,
    Mend,
    Mended,
    Problem,
    counted,
    unread,
)
from cortext.features.secrets.redact_value import redaction_key
from cortext.model import json_codec, record_dicts
from cortext.stores.document import SessionStorage
from cortext.tools import deleted_sessions
from cortext.tools.registry import tool_names


def check_exports(documents: Iterable[str]) -> Iterator[Found]:
    """What is wrong with the exported indexes of folders of documents."""
    for folder in documents:
        yield _of(f"{folder}/index.json", _is_object, partial(_export, folder))


def check_notes() -> Iterator[Found]:
    """What is wrong with the others."""
    for tool in tool_names():
        path = os.path.join(paths.archive(), ".known", f"{tool}.json")
        yield _of(path, _is_known, _known)
    for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents()):
        yield _of(path, lambda data: not _bad_lines(data), _folders)
    yield _of(deleted_sessions.path(), lambda data: not _cut_lines(data), _forgotten)
    yield _of(os.path.join(paths.data_home(), "cortext", "setup.json"), _is_object, _setup)
    yield _key()


def _of(path: str, is_sound: Callable[[bytes], bool], tell: Callable[[str, bytes], Found]) -> Found:
    try:
        data = read_file(path)
    except OSError as error:
        return unread(path, error)
    return NOTHING if is_sound(data) else tell(path, data)


def _is_known(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=dict[str, Known])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _known(path: str, data: bytes) -> Found:
    mend = f"remove {path}: the next sync finds out again by comparing"
    text = f"{path} is not written to its end: what is known of copies, to save time"
    hint = "nothing is lost by it: the next sync finds out again"
    problem = Problem(text, hint, WARNING, path, mend=mend)

    def do() -> Mended | None:
        with storage_errors("mend", path), archive_lock(10.0):
            if not os.path.exists(path) or _is_known(read_file(path)):
                return None
            remove_if_there(path)
        return Mended(f"{path} was removed, and will be made anew", [])

    return Found([problem], Mend(mend, do))


def _bad_lines(data: bytes) -> list[int]:
    """The lines that name no folder; a last one that was not written to its end among them."""
    *lines, last = data.split(b"\n")
    bad = [n for n, line in enumerate(lines, 1) if line and (line[:1] != b"/" or b"\0" in line)]
    if last and (b"\0" in last or not os.path.isdir(os.fsdecode(last))):
        bad.append(len(lines) + 1)
    return bad


def _folders(path: str, data: bytes) -> Found:
    bad = _bad_lines(data)
    mend = f"take {counted(len(bad), 'line')} out of {path}"
    text = f"{path}, line {bad[0]}: this is no folder"
    text += f", and {counted(len(bad) - 1, 'more line')}" if len(bad) > 1 else ""
    hint = "a workspace that is missing there is known again when you use cortext in it"
    problem = Problem(text, hint, WARNING, path, bad[0], mend)

    def do() -> Mended | None:
        with storage_errors("mend", path), FileLock(f"{path}.lock", guards=path):
            data = read_file(path)
            bad = set(_bad_lines(data))
            if not bad:
                return None
            kept = set_aside(path, "corrupt")
            lines = enumerate(data.split(b"\n"), 1)
            replace(path, [line + b"\n" for n, line in lines if line and n not in bad])
        return Mended(f"{path} names folders alone again", [kept])

    return Found([problem], Mend(mend, do))


def _cut_lines(data: bytes) -> list[int]:
    lines = data.split(b"\n")
    return [n for n, line in enumerate(lines, 1) if line and (line.count(b"\t") < 2 or 0 in line)]


def _forgotten(path: str, data: bytes) -> Found:
    line = _cut_lines(data)[0]
    text = f"{path}, line {line}: which session was deleted cannot be read"
    hint = "if it comes back with a sync, delete it again with `cortext delete`"
    return Found([Problem(text, hint, WARNING, path, line)])


def _is_object(data: bytes) -> bool:
    try:
        record_dicts.as_dict(json_codec.decode(data))
    except ValueError:
        return False
    return True


def _setup(path: str, data: bytes) -> Found:
    text = f"{path} cannot be read: what `cortext setup` put into your tools"
    return Found([Problem(text, "`cortext setup` writes it anew", WARNING, path)])


def _export(folder: str, path: str, data: bytes) -> Found:
    mend = f"make {path} anew from the sessions"
    hint = "nothing is lost by it: everything in it is made from the sessions"
    problem = Problem(f"{path} is damaged: it is no JSON object", hint, WARNING, path, mend=mend)

    def do() -> Mended | None:
        if _is_object(read_file(path)):
            return None
        index = SessionIndex(SessionStorage(folder))
        try:
            count = index.rebuild()
        finally:
            index.close()
        return Mended(f"{path} was made anew, of {counted(count, 'session')}", [])

    return Found([problem], Mend(mend, do))


def _key() -> Found:
    path = paths.redaction_key()
    if not os.path.exists(path):
        return NOTHING
    if not os.path.isfile(path):
        text = f"{path} is no file, and was to hold the key of redaction"
        hint = "look what it is, and move it away: what is masked then gets new marks"
        return Found([Problem(text, hint, PROBLEM, path)])
    try:
        redaction_key()
    except CortextError as error:
        return Found([Problem(str(error), error.hint, PROBLEM, path)])
    return NOTHING
