"""Redact secrets in the files of cortext: conversations, logs, documents and the trash.

Each secret is replaced by `[redacted FAMILY FINGERPRINT]`. The tools' own files are never changed.
A row stands for one conversation or session, or for one entry of the trash.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext.catalog.documents.document_index import SessionIndex
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import collect_errors, replace, side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.live_session_mark import live_holder, mark_path
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionStorageError
from cortext.features.secrets.adapter_side_files import as_row, is_checkpoints, list_adapter_files
from cortext.features.secrets.conversation_files import files_beside, loose_files, text_files
from cortext.features.secrets.leftover_temp_files import files_in, sweep, temp_folders
from cortext.features.secrets.redaction_record import pack_members
from cortext.features.secrets.redactor import (
    Redactor,
    redact_file_bytes,
    redact_json,
    redact_line,
)
from cortext.features.secrets.secret_scan import LEFT, STATE, TRASH, Finding, origins_of, scan_own
from cortext.features.secrets.text_pieces import Unread, content, is_compressed, is_zstd
from cortext.git.commit_outcome import NotRecordedError, one_line
from cortext.git.committed_files import has_committed
from cortext.model.secrets.detector import Mask
from cortext.stores.document import SessionStorage
from cortext.stores.log import LogStore
from cortext.stores.workspace_layout import conversations_dir
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.workspace import Workspace

_GIT_NOTE = (
    "the git history still contains the secret, because cortext does not change the history; "
    "replace the secret with a new one, or rewrite the history"
)


class RedactResult(NamedTuple):
    """The outcome of a redaction.

    `pieces` is the number of places in which a secret was redacted. `fingerprints` has one value
    for each different secret, and `files` are the changed files. `notes` are sentences for the
    user. `failures` are the errors of the steps that failed.
    """

    pieces: int
    fingerprints: frozenset[str]
    files: list[str]
    notes: list[str]
    failures: list[CortextError]


def path_of(row: ConversationRow) -> str:
    """Return the path that a row stands for: a conversation's folder, or a session's file."""
    return row.path if row.tool else row.place.folder


def refuse_live(row: ConversationRow) -> None:
    """Raise CortextError if a process has the conversation open.

    Such a process has the secret in memory and could write it again.
    """
    if row.is_standalone:
        holder = live_holder(mark_path(os.path.dirname(row.path), row.key))
        if holder:
            raise _live_error(row, f"{holder} has the session open")
        return
    own = {row.key} if row.tool else set(row.session_ids)
    for tool, id in live_sessions():
        if id in own:
            raise _live_error(row, f"it is open in {tool}")


def redact(row: ConversationRow, findings: Sequence[Finding] | None = None) -> RedactResult:
    """Redact all secrets in the files of one conversation, or only the secrets in `findings`.

    Each file is replaced atomically. The number of lines, the ids and the times do not change. Temp
    files that killed processes left are removed. If a step fails, its error is in the result, and
    the other steps still run. For the archive's copies of tool sessions, use `redact_copies`.
    """
    refuse_live(row)
    if row.tool and not row.is_standalone and row.tool not in (TRASH, STATE):
        note = f"{row.path} belongs to the tool and is not changed"
        return RedactResult(0, frozenset(), [], [note], [])
    notes: list[str] = []
    failures: list[CortextError] = []
    before = _scan_row(row, failures) or []
    mask = Redactor({one.secret for one in findings} if findings is not None else None)
    _redact_row(row, mask, notes, failures)
    after = _scan_row(row, failures)
    redacted = _find_redacted(before, after) if after is not None else []
    files = sorted({one.path for one in redacted})
    notes += _check_git_history(row, files, failures)
    fingerprints = frozenset(mask.fingerprint_of(one.secret) for one in redacted)
    return RedactResult(len(redacted), fingerprints, files, notes, failures)


def report_missing_files(found: Iterable[Finding], failures: list[CortextError]) -> None:
    """Add an error to `failures` for each file that contained a secret and no longer exists.

    Somebody may have moved the file, so the secret may still exist elsewhere. If the folder of the
    file is missing too, the error names the folder.
    """
    paths = {one.path for one in found if one.role != LEFT and not os.path.lexists(one.path)}
    named = {error.path for error in failures if isinstance(error, SessionStorageError)}
    failures += [
        SessionStorageError(
            f"could not redact {path}: it was removed or moved in the meantime",
            path=path,
            hint="if it was moved, search for it with `cortext scan --all`",
        )
        for path in sorted({_first_missing(path) for path in paths - named} - named)
    ]


def _first_missing(path: str) -> str:
    """Return the outermost missing folder above a path, or the path itself if none is missing."""
    while not os.path.lexists(os.path.dirname(path)):
        path = os.path.dirname(path)
    return path


def _scan_row(row: ConversationRow, failures: list[CortextError]) -> list[Finding] | None:
    """Return the secrets in the files of a conversation.

    If the scan fails, add the error to `failures`, and return None.
    """
    with collect_errors(failures, "look for secrets in", path_of(row)):
        return scan_own(row)
    return None


def _find_redacted(before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Return the redacted secrets: the findings in `before` that are not in `after`.

    Findings in files that no longer exist are left out, because somebody else removed the files.
    """
    remaining = {(one.path, one.secret) for one in after}
    redacted = [one for one in before if (one.path, one.secret) not in remaining]
    return [one for one in redacted if one.role == LEFT or os.path.lexists(one.path)]


def _redact_row(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    rows = [row]
    with collect_errors(failures, "find the origin of", path_of(row)):
        rows += origins_of(row)
    for one in rows:
        with collect_errors(failures, "redact", path_of(one)):
            _redact_files(one, mask, notes, failures)
    with collect_errors(failures, "remove the temp files of", path_of(row)):
        in_use = sweep(temp_folders(row))
        notes += [f"{path} is still being written; redact it again afterwards" for path in in_use]


def _redact_files(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    """Redact the files of one row (a conversation, a session or an entry of the trash).

    `mask` returns the replacement for a secret. If a file still has a secret afterwards, add the
    reason to `notes`. If a file could not be redacted, add the error to `failures`.
    """
    if row.tool == TRASH:
        files = [path for path in files_in(row.path) if not is_checkpoints(path)]
        _rewrite_files(files, mask, os.path.dirname(row.path), notes, failures)
    elif row.tool == STATE:
        for path in [path for path in list_adapter_files() if not is_checkpoints(path)]:
            with collect_errors(failures, "redact", path):
                _redact_log(as_row(path), mask, notes, failures)
    elif not row.tool:
        _redact_workspace(row, mask, notes, failures)
    elif row.is_log:
        _redact_log(row, mask, notes, failures)
    else:
        _redact_document(row, mask, notes, failures)


def _redact_workspace(
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
            with collect_errors(failures, "redact", place.session):
                workspace.store.rewrite_at(place, lambda value: redact_json(value, mask))
        others = [path for path in text_files(place) if path not in session]
        _rewrite_files(others, mask, side, notes, failures)
        _rewrite_files(loose_files(row), mask, side, notes, failures)


def _rewrite_files(
    files: Iterable[str],
    mask: Mask,
    temp_dir: str,
    notes: list[str],
    failures: list[CortextError],
) -> None:
    for path in files:
        with collect_errors(failures, "redact", path):
            _rewrite_file(path, mask, temp_dir, notes)


def _rewrite_file(path: str, mask: Mask, temp_dir: str, notes: list[str]) -> None:
    """Redact one file, which may be compressed. Its permissions do not change.

    The modification time of a compressed file does not change either. If a compressed file cannot
    be rewritten, leave it, and add the reason to `notes`.
    """
    damages: Unread = []
    packed = is_compressed(path) or is_zstd(path)
    data = content(path, damages) if packed else read_file(path)
    new = redact_file_bytes(path, data, mask)
    if new == data:
        return
    if packed and (reason := _explain_unwritable(path, data, damages)):
        notes.append(f"{path} still contains the secret: {reason}; remove or replace it yourself")
        return
    found = os.stat(path)
    replace(path, pack_members(new) if packed else [new], temp_dir=temp_dir)
    if packed:
        os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
    os.chmod(path, found.st_mode & 0o777)


def _explain_unwritable(path: str, data: bytes, damages: Unread) -> str:
    """Return the reason why a compressed file cannot be rewritten; "" if it can."""
    if damages:
        return "the file is damaged"
    if is_zstd(path):
        return "the file is compressed with zstd"
    return "the file is a packed folder or not text" if b"\0" in data else ""


def _redact_log(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    folder = os.path.dirname(row.path)
    store = LogStore(folder)
    with storage_errors("write", row.path), store.changing(row.key):
        with collect_errors(failures, "redact", row.path):
            lines = read_file(row.path).split(b"\n")
            new = b"\n".join(redact_line(line, mask) for line in lines)
            replace(row.path, [new], temp_dir=side_dir(folder))
        _rewrite_files(files_beside(row.path), mask, side_dir(folder), notes, failures)


def _redact_document(
    row: ConversationRow, mask: Mask, notes: list[str], failures: list[CortextError]
) -> None:
    folder = os.path.dirname(row.path)
    side = side_dir(folder)
    backup = f"{row.path.removesuffix('.json')}.backup"
    with (
        storage_errors("write", row.path),
        FileLock(f"{side}/locks/{row.key}.lock", guards=row.path),
    ):
        for path in filter(os.path.isfile, (row.path, backup)):
            with collect_errors(failures, "redact", path):
                replace(path, [redact_line(read_file(path), mask)], temp_dir=side)
        _rewrite_files(files_beside(row.path), mask, side, notes, failures)
    index = SessionIndex(SessionStorage(folder))
    try:
        index.rebuild()
    finally:
        index.close()


def _check_git_history(
    row: ConversationRow, files: Sequence[str], failures: list[CortextError]
) -> list[str]:
    """Return a note for the user if a git commit contains one of these files; otherwise [].

    If git cannot tell this, add the error to `failures`.
    """
    if row.tool:
        return []
    folder = row.place.folder
    try:
        known = has_committed(folder, [path for path in files if path.startswith(f"{folder}/")])
    except NotRecordedError as error:
        sentence = f"could not check whether the git history contains secrets of {row.key}"
        look = f"git rev-list --all -- {shlex.quote(folder)}"
        failures.append(
            CortextError(
                f"{sentence}: {one_line(str(error))}",
                hint=f"the files are redacted; later, list the commits with `{look}`",
            )
        )
        return []
    return [_GIT_NOTE] if known else []


def _live_error(row: ConversationRow, why: str) -> CortextError:
    return CortextError(
        f"{row.key} was not redacted: {why}", hint="close it there, then redact it again"
    )
