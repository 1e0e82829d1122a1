"""Check the files in which cortext stores its own state.

These are the lists of known folders, the notes about copies in the archive, the list of deleted
sessions, the list of redactions, the redaction key and exported indexes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec
from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.catalog.document_index import SessionIndex
from cortext.durability.file_lock import FileLock
from cortext.durability.gzip_members import read_packed
from cortext.durability.incremental_copy import CopyState
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import remove_if_there, replace, set_aside, storage_errors
from cortext.errors import CortextError
from cortext.features.archive.archive_copies import folder_of
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.doctor.problem import (
    NOTHING,
    PROBLEM,
    WARNING,
    CheckResult,
    Problem,
    Repair,
    Repaired,
    is_absent,
    pluralize,
    report_unreadable,
)
from cortext.features.secrets.purge_index import is_unfinished, purge_words
from cortext.features.secrets.redact_value import redaction_key
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    archive_name,
    find_fingerprints,
)
from cortext.model import json_codec, record_dicts
from cortext.stores.document import SessionStorage
from cortext.tools import deleted_sessions
from cortext.tools.registry import tool_names


def check_exports(documents: Iterable[str]) -> Iterator[CheckResult]:
    """Yield the problems of the exported `index.json` in each folder of session documents."""
    for folder in documents:
        yield _of(f"{folder}/index.json", _is_object, partial(_export, folder))


def check_own_files() -> Iterator[CheckResult]:
    """Yield the problems of the lists of known folders, the setup record and the redaction key.

    The setup record says what `cortext setup` wrote into the user's tools.
    """
    for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents()):
        yield _of(path, lambda data: not _bad_lines(data), _folders)
    yield _of(paths.setup_record(), _is_object, _setup)
    yield _key()


def check_archive_notes() -> Iterator[CheckResult]:
    """Yield the problems of the saved states of archive copies, and of the deleted sessions."""
    for tool in tool_names():
        path = os.path.join(paths.archive(), ".known", f"{tool}.json")
        yield _of(path, _is_known, _known)
    yield _of(deleted_sessions.path(), lambda data: not _cut_lines(data), _forgotten)


def _of(
    path: str, is_sound: Callable[[bytes], bool], tell: Callable[[str, bytes], CheckResult]
) -> CheckResult:
    try:
        data = read_file(path)
    except OSError as error:
        return report_unreadable(path, error)
    return NOTHING if is_sound(data) else tell(path, data)


def _is_known(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=dict[str, CopyState])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _known(path: str, data: bytes) -> CheckResult:
    mend = f"remove {path}: the next sync finds out again by comparing"
    text = f"{path} is not written to its end: what is known of copies, to save time"
    hint = "nothing is lost by it: the next sync finds out again"
    problem = Problem(text, hint, WARNING, path, mend=mend)

    def do() -> Repaired | None:
        with storage_errors("mend", path), archive_lock(10.0):
            if not os.path.exists(path) or _is_known(read_file(path)):
                return None
            remove_if_there(path)
        return Repaired(f"{path} was removed, and will be made anew", [])

    return CheckResult([problem], Repair(mend, do))


def _bad_lines(data: bytes) -> list[int]:
    """Return the numbers of the lines in a list of folders that are not the path of a folder."""
    *lines, last = data.split(b"\n")
    bad = [n for n, line in enumerate(lines, 1) if line and (line[:1] != b"/" or b"\0" in line)]
    if last and (b"\0" in last or not os.path.isdir(os.fsdecode(last))):
        bad.append(len(lines) + 1)
    return bad


def _folders(path: str, data: bytes) -> CheckResult:
    bad = _bad_lines(data)
    mend = f"take {pluralize(len(bad), 'line')} out of {path}"
    text = f"{path}, line {bad[0]}: this is no folder"
    text += f", and {pluralize(len(bad) - 1, 'more line')}" if len(bad) > 1 else ""
    hint = "a workspace that is missing there is known again when you use cortext in it"
    problem = Problem(text, hint, WARNING, path, bad[0], mend)

    def do() -> Repaired | None:
        with storage_errors("mend", path), FileLock(f"{path}.lock", guards=path):
            data = read_file(path)
            bad = set(_bad_lines(data))
            if not bad:
                return None
            kept = set_aside(path, "corrupt")
            lines = enumerate(data.split(b"\n"), 1)
            replace(path, [line + b"\n" for n, line in lines if line and n not in bad])
        return Repaired(f"{path} names folders alone again", [kept])

    return CheckResult([problem], Repair(mend, do))


def _cut_lines(data: bytes) -> list[int]:
    lines = data.split(b"\n")
    return [n for n, line in enumerate(lines, 1) if line and (line.count(b"\t") < 2 or 0 in line)]


def _forgotten(path: str, data: bytes) -> CheckResult:
    line = _cut_lines(data)[0]
    text = f"{path}, line {line}: which session was deleted cannot be read"
    hint = "if it comes back with a sync, delete it again with `cortext delete`"
    return CheckResult([Problem(text, hint, WARNING, path, line)])


def _is_object(data: bytes) -> bool:
    try:
        record_dicts.as_dict(json_codec.decode(data))
    except ValueError:
        return False
    return True


def _setup(path: str, data: bytes) -> CheckResult:
    text = f"{path} cannot be read: what `cortext setup` put into your tools"
    return CheckResult([Problem(text, "`cortext setup` writes it anew", WARNING, path)])


def _export(folder: str, path: str, data: bytes) -> CheckResult:
    mend = f"make {path} anew from the sessions"
    hint = "nothing is lost by it: everything in it is made from the sessions"
    problem = Problem(f"{path} is damaged: it is no JSON object", hint, WARNING, path, mend=mend)

    def do() -> Repaired | None:
        if _is_object(read_file(path)):
            return None
        index = SessionIndex(SessionStorage(folder))
        try:
            count = index.rebuild()
        finally:
            index.close()
        return Repaired(f"{path} was made anew, of {pluralize(count, 'session')}", [])

    return CheckResult([problem], Repair(mend, do))


def _key() -> CheckResult:
    path = paths.redaction_key()
    if not os.path.exists(path):
        return NOTHING
    if not os.path.isfile(path):
        text = f"{path} is no file, and was to hold the key of redaction"
        hint = "look what it is, and move it away: what is masked then gets new marks"
        return CheckResult([Problem(text, hint, PROBLEM, path)])
    try:
        redaction_key()
    except CortextError as error:
        return CheckResult([Problem(str(error), error.hint, PROBLEM, path)])
    return NOTHING


CopyPaths = Iterable[tuple[str, str]]
"""Pairs of a tool and the path of one of its copies."""


def record_redactions(tool: str, path: str, data: bytes) -> None:
    """Record the redactions in an archive copy, so that the next sync redacts the same texts.

    `path` is the path of the copy and `data` its contents. The caller holds the lock of the
    archive. Raises CortextError if the record cannot be written.
    """
    marks = find_fingerprints(data)
    if marks:
        masks = ArchiveRedactions(tool)
        masks.add(archive_name(path, folder_of(tool)), marks)
        masks.save()


def check_archive_redactions(copies: CopyPaths) -> CheckResult:
    """Check the list of redactions in the archive. A missing list is no problem.

    The repair reads the redactions from `copies` again.
    """
    path = os.path.join(paths.archive(), ".masked")
    try:
        bad = _bad_redaction_lines(read_file(path))
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}"
        return CheckResult([Problem(text, "without it, a sync may bring back what you masked")])
    if not bad:
        return NOTHING
    mend = f"write {path} anew, by what is masked in the copies"
    text = f"{path}, line {bad[0]}: of {pluralize(len(bad), 'line')} nobody knows what was masked"
    hint = "`cortext doctor --fix` finds out from the copies"
    problem = Problem(text, hint, path=path, line=bad[0], mend=mend)
    return CheckResult([problem], Repair(mend, partial(_repair_redactions, path, list(copies))))


def _bad_redaction_lines(data: bytes) -> list[int]:
    found: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if line:
                decode(line, type=tuple[str, str, str, list[str]])
        except (DecodeError, ValidationError, UnicodeDecodeError):
            found.append(number)
    return found


def _repair_redactions(path: str, copies: list[tuple[str, str]]) -> Repaired | None:
    with storage_errors("mend", path), archive_lock(10.0):
        data = read_file(path)
        bad = set(_bad_redaction_lines(data))
        if not bad:
            return None
        kept = set_aside(path, "corrupt")
        lines = enumerate(data.split(b"\n"), 1)
        replace(path, [line + b"\n" for number, line in lines if line and number not in bad])
        unread = [copy for tool, copy in copies if not _noted(tool, copy)]
    more = f"; these copies could not be read: {', '.join(unread)}" if unread else ""
    return Repaired(f"{path} was written anew{more}", [kept])


def _noted(tool: str, copy: str) -> bool:
    try:
        record_redactions(tool, copy, b"".join(read_packed(copy)))
    except (OSError, CortextError):
        return False
    return True


def check_unfinished_redact() -> CheckResult:
    """Return a problem if `cortext redact` was killed before it cleared the search index.

    A redaction that is running now is no problem.
    """
    path = paths.unfinished_redact()
    if is_absent(path) or not is_unfinished():
        return NOTHING
    text = f"{path}: a redact was killed before lists and search index forgot what it masked"
    hint = "`cortext doctor --fix` has them forget it, and so does the next `cortext redact`"
    mend = "have lists and search index forget what a redact masked that was killed"
    problem = Problem(text, hint, WARNING, path, mend=mend)
    return CheckResult([problem], Repair(mend, _finish_redact))


def _finish_redact() -> Repaired | None:
    if not is_unfinished():
        return None
    purge_words()
    return Repaired("lists and search index have forgotten what was masked", [])
