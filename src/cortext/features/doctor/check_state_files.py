"""Check the files in which cortext stores its own state.

These are the lists of known folders, the cache about the copies in the archive, the list of deleted
sessions, the list of redactions, the redaction key, the setup record and the exported indexes.

The databases are checked too: the catalog, the search index, and an index in each folder of
sessions. They can be built again from the conversations.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from urllib.parse import quote

import msgspec
from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from cortext import paths
from cortext.catalog.documents.document_index import SessionIndex
from cortext.catalog.rebuildable_database import remove_database
from cortext.durability.durable_files import remove_if_there, replace, set_aside, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.gzip_members import read_packed
from cortext.durability.incremental_copy import CopyState
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.features.archive.archive_copy_states import folder_of
from cortext.features.archive.archive_sync import archive_lock
from cortext.features.doctor.check_results import (
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
from cortext.features.secrets.redacted_text_purge import is_unfinished, purge_words
from cortext.features.secrets.redaction_record import (
    ArchiveRedactions,
    archive_name,
    find_fingerprints,
)
from cortext.features.secrets.redactor import redaction_key
from cortext.model import json_codec, message_dicts
from cortext.stores.document import SessionStorage
from cortext.tools import deleted_sessions
from cortext.tools.registry import tool_names

_LARGE_DATABASE = 64 << 20
"""The size in bytes above which only a deep check reads the whole database.

Other checks read only the header of such a database.
"""


def check_exports(documents: Iterable[str]) -> Iterator[CheckResult]:
    """Yield the problems of the file `index.json` in each folder of session documents.

    The file is an export of the folder's index. `documents` are the folders.
    """
    for folder in documents:
        yield _check_file(f"{folder}/index.json", _is_object, partial(_report_export, folder))


def check_own_files() -> Iterator[CheckResult]:
    """Yield the problems of the lists of known folders, the setup record and the redaction key.

    The setup record says what `cortext setup` wrote into the user's tools.
    """
    for path in (paths.known_workspaces(), paths.known_programs(), paths.known_documents()):
        yield _check_file(path, lambda data: not _bad_folder_lines(data), _report_folder_list)
    yield _check_file(paths.setup_record(), _is_object, _report_setup_record)
    yield _check_key()


def check_archive_notes() -> Iterator[CheckResult]:
    """Yield the problems of the files in the archive that are not copies of transcripts.

    These files are a cache about the copies of each tool, and the list of deleted sessions.
    """
    for tool in tool_names():
        path = os.path.join(paths.archive(), ".known", f"{tool}.json")
        yield _check_file(path, _is_sound_cache, _report_cache)
    yield _check_file(
        deleted_sessions.path(), lambda data: not _incomplete_lines(data), _report_deleted_list
    )


def _check_file(
    path: str, is_sound: Callable[[bytes], bool], report: Callable[[str, bytes], CheckResult]
) -> CheckResult:
    try:
        data = read_file(path)
    except OSError as error:
        return report_unreadable(path, error)
    return NOTHING if is_sound(data) else report(path, data)


def _is_sound_cache(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=dict[str, CopyState])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _report_cache(path: str, data: bytes) -> CheckResult:
    mend = f"remove {path}; the next sync writes it again"
    text = f"{path}, a cache about the copies in the archive, is incomplete"
    hint = "nothing is lost: the next sync writes the file again"
    problem = Problem(text, hint, WARNING, path, mend=mend)

    def repair() -> Repaired | None:
        with storage_errors("repair", path), archive_lock(10.0):
            if not os.path.exists(path) or _is_sound_cache(read_file(path)):
                return None
            remove_if_there(path)
        return Repaired(f"{path} was removed; the next sync writes it again", [])

    return CheckResult([problem], Repair(mend, repair))


def _bad_folder_lines(data: bytes) -> list[int]:
    """Return the numbers of the invalid lines in a file with one folder path per line.

    `data` is the contents of the file.
    """
    *lines, last = data.split(b"\n")
    bad = [n for n, line in enumerate(lines, 1) if line and (line[:1] != b"/" or b"\0" in line)]
    if last and (b"\0" in last or not os.path.isdir(os.fsdecode(last))):
        bad.append(len(lines) + 1)
    return bad


def _report_folder_list(path: str, data: bytes) -> CheckResult:
    bad = _bad_folder_lines(data)
    mend = f"remove {pluralize(len(bad), 'line')} from {path}"
    text = f"{path}, line {bad[0]}: this is not the path of a folder"
    text += f" (and {pluralize(len(bad) - 1, 'more line')})" if len(bad) > 1 else ""
    hint = "if a workspace is missing from the list, use cortext in it to add it again"
    problem = Problem(text, hint, WARNING, path, bad[0], mend)

    def repair() -> Repaired | None:
        with storage_errors("repair", path), FileLock(f"{path}.lock", guards=path):
            data = read_file(path)
            bad = set(_bad_folder_lines(data))
            if not bad:
                return None
            old_file = set_aside(path, "corrupt")
            lines = enumerate(data.split(b"\n"), 1)
            replace(path, [line + b"\n" for n, line in lines if line and n not in bad])
        return Repaired(f"{path} contains only folders again", [old_file])

    return CheckResult([problem], Repair(mend, repair))


def _incomplete_lines(data: bytes) -> list[int]:
    lines = data.split(b"\n")
    return [n for n, line in enumerate(lines, 1) if line and (line.count(b"\t") < 2 or 0 in line)]


def _report_deleted_list(path: str, data: bytes) -> CheckResult:
    line = _incomplete_lines(data)[0]
    text = f"{path}, line {line}: the id of a deleted session cannot be read"
    hint = "if the session comes back after a sync, delete it again with `cortext delete`"
    return CheckResult([Problem(text, hint, WARNING, path, line)])


def _is_object(data: bytes) -> bool:
    try:
        message_dicts.as_dict(json_codec.decode(data))
    except ValueError:
        return False
    return True


def _report_setup_record(path: str, data: bytes) -> CheckResult:
    text = f"{path}, the record of the changes that `cortext setup` made, cannot be read"
    return CheckResult([Problem(text, "run `cortext setup` to write it again", WARNING, path)])


def _report_export(folder: str, path: str, data: bytes) -> CheckResult:
    mend = f"build {path} again from the sessions"
    hint = "nothing is lost: cortext builds this file from the sessions"
    problem = Problem(f"{path} is damaged: not a JSON object", hint, WARNING, path, mend=mend)

    def repair() -> Repaired | None:
        if _is_object(read_file(path)):
            return None
        index = SessionIndex(SessionStorage(folder))
        try:
            count = index.rebuild()
        finally:
            index.close()
        return Repaired(f"{path} was built again from {pluralize(count, 'session')}", [])

    return CheckResult([problem], Repair(mend, repair))


def _check_key() -> CheckResult:
    path = paths.redaction_key()
    if not os.path.exists(path):
        return NOTHING
    if not os.path.isfile(path):
        text = f"{path} should be the file with the redaction key, but is not a file"
        hint = "check what it is, and move it away; new redactions then get new fingerprints"
        return CheckResult([Problem(text, hint, PROBLEM, path)])
    try:
        redaction_key()
    except CortextError as error:
        return CheckResult([Problem(str(error), error.hint, PROBLEM, path)])
    return NOTHING


CopyPaths = Iterable[tuple[str, str]]
"""Pairs of a tool's name and the path of an archive copy of one of its transcripts."""


def record_redactions(tool: str, path: str, data: bytes) -> None:
    """Add the redactions in an archive copy to the archive's list of redactions.

    The next sync then redacts the same texts again. `path` is the path of the copy and `data` its
    contents. The caller holds the lock of the archive. Raises CortextError if the list cannot be
    written.
    """
    fingerprints = find_fingerprints(data)
    if fingerprints:
        redactions = ArchiveRedactions(tool)
        redactions.add(archive_name(path, folder_of(tool)), fingerprints)
        redactions.save()


def check_archive_redactions(copies: CopyPaths) -> CheckResult:
    """Check the file in the archive that lists the redactions. A missing file is no problem.

    The repair builds the list again from the redactions that `copies` contain.
    """
    path = os.path.join(paths.archive(), ".masked")
    try:
        bad = _bad_redaction_lines(read_file(path))
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}"
        return CheckResult(
            [Problem(text, "without this list, a sync may bring back redacted secrets")]
        )
    if not bad:
        return NOTHING
    mend = f"rewrite {path} from the redactions in the copies"
    text = f"{path}, line {bad[0]}: {pluralize(len(bad), 'redaction')} cannot be read"
    hint = "`cortext doctor --fix` restores the list from the copies"
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
    with storage_errors("repair", path), archive_lock(10.0):
        data = read_file(path)
        bad = set(_bad_redaction_lines(data))
        if not bad:
            return None
        old_file = set_aside(path, "corrupt")
        lines = enumerate(data.split(b"\n"), 1)
        replace(path, [line + b"\n" for number, line in lines if line and number not in bad])
        unread = [copy for tool, copy in copies if not _record_copy(tool, copy)]
    more = f"; these copies could not be read: {', '.join(unread)}" if unread else ""
    return Repaired(f"{path} was rewritten{more}", [old_file])


def _record_copy(tool: str, copy: str) -> bool:
    try:
        record_redactions(tool, copy, b"".join(read_packed(copy)))
    except (OSError, CortextError):
        return False
    return True


def check_unfinished_redact() -> CheckResult:
    """Return a problem if `cortext redact` was killed before it cleared the search index.

    A `cortext redact` that is still running is no problem.
    """
    path = paths.unfinished_redact()
    if is_absent(path) or not is_unfinished():
        return NOTHING
    text = f"{path}: `cortext redact` was killed before it cleared the lists and the search index"
    hint = "`cortext doctor --fix` clears them, and so does the next `cortext redact`"
    mend = "remove redacted words from the lists and the search index"
    problem = Problem(text, hint, WARNING, path, mend=mend)
    return CheckResult([problem], Repair(mend, _finish_redact))


def _finish_redact() -> Repaired | None:
    if not is_unfinished():
        return None
    purge_words()
    return Repaired("redacted words were removed from the lists and the search index", [])


def list_databases(folders: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the existing databases: the catalog and all indexes.

    `folders` are the folders with sessions, each of which may have an index.
    """
    found = [paths.catalog(), paths.words()]
    found += [f"{folder}/.cortext/index.sqlite3" for folder in folders]
    return (path for path in found if os.path.isfile(path))


def check_database(path: str, *, deep: bool = False) -> CheckResult:
    """Check a database, and return a problem if it is damaged.

    The repair deletes the database, and cortext builds it again when needed. A busy or locked
    database is no problem. If `deep` is false, only the header of a large database is read.
    """
    why = _find_database_damage(path, deep=deep)
    if not why:
        return NOTHING
    text = f"{path} is damaged: {why}"
    mend = f"remove {path}; cortext builds it again from the conversations when needed"
    hint = "nothing is lost: cortext builds this database from the conversations"
    problem = Problem(text, hint, WARNING, path, mend=mend)
    return CheckResult([problem], Repair(mend, partial(_remove_damaged_database, path)))


def _find_database_damage(path: str, *, deep: bool) -> str:
    pragma = (
        "quick_check(1)" if deep or os.path.getsize(path) < _LARGE_DATABASE else "schema_version"
    )
    if not os.path.getsize(path):
        return ""  # Another process is creating the database.
    try:
        db = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, timeout=1)
        try:
            answer = db.execute(f"PRAGMA {pragma}").fetchone()[0]
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if damaged else ""
    return "" if answer == "ok" or isinstance(answer, int) else str(answer)


def _remove_damaged_database(path: str) -> Repaired | None:
    if not os.path.exists(path) or not _find_database_damage(path, deep=True):
        return None
    remove_database(path)
    return Repaired(f"{path} was removed; cortext builds it again when needed", [])
