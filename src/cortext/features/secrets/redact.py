"""Redact secrets in the files of cortext: conversations, logs, documents and the trash.

Each secret is replaced by `[redacted FAMILY FINGERPRINT]`. The tools' own files are never changed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext.catalog.document_index import SessionIndex
from cortext.catalog.row import ConversationRow
from cortext.durability.file_lock import FileLock
from cortext.durability.lifetime_lock import live_holder, mark_path
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import collect_errors, replace, side_dir, storage_errors
from cortext.errors import CortextError, SessionStorageError
from cortext.features.secrets.adapter_files import as_row, inner_files, is_checkpoints
from cortext.features.secrets.conversation_files import files_beside, loose_files, text_files
from cortext.features.secrets.file_readers import Unread, content, is_compressed, is_zstd
from cortext.features.secrets.leftover_temp_files import files_in, sweep, temp_folders
from cortext.features.secrets.redact_value import (
    Redactor,
    redact_file_bytes,
    redact_json,
    redact_line,
)
from cortext.features.secrets.redaction_record import pack_members
from cortext.features.secrets.scan import LEFT, STATE, TRASH, Finding, origins_of, scan_own
from cortext.git.commit_outcome import NotRecorded, one_line
from cortext.git.committed_files import has_committed
from cortext.model.secrets.detector import Mask
from cortext.stores.document import SessionStorage
from cortext.stores.log import LogStore
from cortext.stores.workspace_layout import conversations_dir
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.workspace import Workspace

_IN_GIT = (
    "git still has the secret in its history, which is not touched: change the secret, or rewrite "
    "the history with a tool for that"
)


class RedactResult(NamedTuple):
    """The outcome of a redaction.

    `pieces` is the number of redacted secrets, `files` are the changed files, and `notes` are
    sentences for the user.
    """

    pieces: int
    files: list[str]
    notes: list[str]
    failures: list[CortextError]


def path_of(row: ConversationRow) -> str:
    """Return the path of a row: a conversation's folder, or the file of any other session."""
    return row.path if row.tool else row.place.folder


def refuse_live(row: ConversationRow) -> None:
    """Raise CortextError if a process has the conversation open.

    Such a process has the secret in memory and could write it again.
    """
    if row.is_standalone:
        holder = live_holder(mark_path(os.path.dirname(row.path), row.key))
        if holder:
            raise _is_live(row, f"{holder} has it open")
        return
    own = {row.key} if row.tool else set(row.session_ids)
    for tool, id in live_sessions():
        if id in own:
            raise _is_live(row, f"it is going on in {tool}")


def redact(row: ConversationRow, findings: Sequence[Finding] | None = None) -> RedactResult:
    """Redact the secrets of one conversation in its own files; with `findings`, only these.

    Each file is replaced atomically. Line count, ids and times do not change. Temp files that
    killed processes left are removed. A failed step is added to `failures`, and the others still
    run. A tool session has no file of cortext: use `redact_copies` for its copies in the archive.
    """
    refuse_live(row)
    if row.tool and not row.is_standalone and row.tool not in (TRASH, STATE):
        return RedactResult(0, [], [f"{row.path} is the tool's own file, and is not touched"], [])
    notes: list[str] = []
    failures: list[CortextError] = []
    had = _look(row, failures) or []
    mask = Redactor({one.secret for one in findings} if findings is not None else None)
    _mask(row, mask, notes, failures)
    left = _look(row, failures)
    gone = _masked(had, left) if left is not None else []
    files = sorted({one.path for one in gone})
    return RedactResult(len(gone), files, [*notes, *_about_git(row, files, failures)], failures)


def note_vanished(found: Iterable[Finding], failures: list[CortextError]) -> None:
    """Add a failure for each file with a found secret that no longer exists.

    Somebody may have moved the file, so the secret may still exist elsewhere. If the folder is
    missing too, the failure names the folder.
    """
    paths = {one.path for one in found if one.role != LEFT and not os.path.lexists(one.path)}
    named = {error.path for error in failures if isinstance(error, SessionStorageError)}
    failures += [
        SessionStorageError(
            f"could not mask {path}: it vanished meanwhile",
            path=path,
            hint="if it was moved, `cortext scan --all` may find it",
        )
        for path in sorted({_first_missing(path) for path in paths - named} - named)
    ]


def _first_missing(path: str) -> str:
    """Return the highest folder above the path that is missing, or the path itself."""
    while not os.path.lexists(os.path.dirname(path)):
        path = os.path.dirname(path)
    return path


def _look(row: ConversationRow, failures: list[CortextError]) -> list[Finding] | None:
    """Return the secrets in the files of a conversation; None if the scan fails."""
    with collect_errors(failures, "look for secrets in", path_of(row)):
        return scan_own(row)
    return None


def _masked(had: Sequence[Finding], left: Sequence[Finding]) -> list[Finding]:
    """Return the findings of `had` that are not in `left`: the redacted secrets.

    Findings in files that somebody else removed are left out.
    """
    still = {(one.path, one.secret) for one in left}
    gone = [one for one in had if (one.path, one.secret) not in still]
    return [one for one in gone if one.role == LEFT or os.path.lexists(one.path)]


def _mask(row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]) -> None:
    rows = [row]
    with collect_errors(failures, "find the origin of", path_of(row)):
        rows += origins_of(row)
    for one in rows:
        with collect_errors(failures, "mask", path_of(one)):
            _in_files(one, mask, notes, failures)
    with collect_errors(failures, "remove the temp files of", path_of(row)):
        kept = sweep(temp_folders(row))
        notes += [f"somebody is still writing {path}: redact it again then" for path in kept]


def _in_files(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    """Redact the files of one row.

    `notes` gets the reasons why a file still has a secret, `failures` why a file could not be
    redacted.
    """
    if row.tool == TRASH:
        files = [path for path in files_in(row.path) if not is_checkpoints(path)]
        _rewrite(files, mask, os.path.dirname(row.path), notes, failures)
    elif row.tool == STATE:
        for path in [path for path in inner_files() if not is_checkpoints(path)]:
            with collect_errors(failures, "mask", path):
                _in_log(as_row(path), mask, notes, failures)
    elif not row.tool:
        _in_workspace(row, mask, notes, failures)
    elif row.is_log:
        _in_log(row, mask, notes, failures)
    else:
        _in_document(row, mask, notes, failures)


def _in_workspace(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    conversations, place = conversations_dir(row.workspace), row.place
    if not os.path.isdir(conversations):
        return  # taking the lock would create the folder again
    workspace, side = Workspace(row.workspace), side_dir(conversations)
    with workspace.changing(place):
        session: tuple[str, ...] = ()
        if os.path.lexists(place.head) and os.path.lexists(place.lines):
            session = place.head, place.lines
            with collect_errors(failures, "mask", place.session):
                workspace.store.rewrite_at(place, lambda value: redact_json(value, mask))
        others = [path for path in text_files(place) if path not in session]
        _rewrite(others, mask, side, notes, failures)
        _rewrite(loose_files(row), mask, side, notes, failures)


def _rewrite(
    files: Iterable[str],
    mask: Mask,
    temp_dir: str,
    notes: list[str],
    failures: list[CortextError],
) -> None:
    for path in files:
        with collect_errors(failures, "mask", path):
            _rewrite_one(path, mask, temp_dir, notes)


def _rewrite_one(path: str, mask: Mask, temp_dir: str, notes: list[str]) -> None:
    """Redact a file, also a compressed one.

    The permissions stay the same; a compressed file also keeps its modification time.
    """
    damages: Unread = []
    packed = is_compressed(path) or is_zstd(path)
    data = content(path, damages) if packed else read_file(path)
    new = redact_file_bytes(path, data, mask)
    if new == data:
        return
    if packed and (reason := _why_packed(path, data, damages)):
        notes.append(f"{path} has it still: {reason}; remove it, or pack it again")
        return
    found = os.stat(path)
    replace(path, pack_members(new) if packed else [new], temp_dir=temp_dir)
    if packed:
        os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
    os.chmod(path, found.st_mode & 0o777)


def _why_packed(path: str, data: bytes, damages: Unread) -> str:
    """Return why a redacted compressed file cannot be written; "" if it can."""
    if damages:
        return "it is damaged"
    if is_zstd(path):
        return "it is compressed with zstd"
    return "it is a packed folder, or no text" if b"\0" in data else ""


def _in_log(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    folder = os.path.dirname(row.path)
    store = LogStore(folder)
    with storage_errors("write", row.path), store.changing(row.key):
        with collect_errors(failures, "mask", row.path):
            lines = read_file(row.path).split(b"\n")
            new = b"\n".join(redact_line(line, mask) for line in lines)
            replace(row.path, [new], temp_dir=side_dir(folder))
        _rewrite(files_beside(row.path), mask, side_dir(folder), notes, failures)


def _in_document(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    """Redact a document and its backup."""
    folder = os.path.dirname(row.path)
    side = side_dir(folder)
    backup = f"{row.path.removesuffix('.json')}.backup"
    with (
        storage_errors("write", row.path),
        FileLock(f"{side}/locks/{row.key}.lock", guards=row.path),
    ):
        for path in filter(os.path.isfile, (row.path, backup)):
            with collect_errors(failures, "mask", path):
                replace(path, [redact_line(read_file(path), mask)], temp_dir=side)
        _rewrite(files_beside(row.path), mask, side, notes, failures)
    index = SessionIndex(SessionStorage(folder))
    try:
        index.rebuild()
    finally:
        index.close()


def _about_git(
    row: ConversationRow, files: Sequence[str], failures: list[CortextError]
) -> list[str]:
    """Return a note for the user if a git commit contains one of these redacted files."""
    if row.tool:
        return []
    folder = row.place.folder
    try:
        known = has_committed(folder, [path for path in files if path.startswith(f"{folder}/")])
    except NotRecorded as error:
        sentence = f"could not ask git whether its history has the secrets of {row.key}"
        look = f"git rev-list --all -- {shlex.quote(folder)}"
        failures.append(
            CortextError(
                f"{sentence}: {one_line(str(error))}",
                hint=f"the files are masked; when git works there, `{look}` lists its commits",
            )
        )
        return []
    return [_IN_GIT] if known else []


def _is_live(row: ConversationRow, why: str) -> CortextError:
    return CortextError(
        f"{row.key} was not redacted: {why}", hint="end it there, then redact it again"
    )
