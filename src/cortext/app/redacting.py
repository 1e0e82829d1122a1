"""Taking secrets out of what is ours: conversations of workspaces, sessions of `aur spawn`,
documents of programs, and what is in the trash. What a tool itself keeps is never touched.

In the place of each stands `[redacted FAMILY FINGERPRINT]`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext.app.abandoned import files_in, sweep, temp_folders
from cortext.app.inner_logs import as_row, inner_files, is_checkpoints
from cortext.app.looking import Unread, content, is_compressed, is_zstd
from cortext.app.masked import members
from cortext.app.masking import Marker, masked_file, masked_line, masked_value
from cortext.app.own_files import beside, loose_files, text_files
from cortext.app.scanning import STATE, TRASH, Finding, origins_of, scan_own
from cortext.durability.live import live_holder, mark_path
from cortext.durability.read import read_file
from cortext.durability.replace import replace, side_dir, storage_errors
from cortext.errors import CortextError
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model.secrets import Mask
from cortext.stores.layout import conversations_dir

_IN_GIT = (
    "git still has the secret in its history, which is not touched: change the secret, or rewrite "
    "the history with a tool for that"
)


class Redacted(NamedTuple):
    """How many secrets were masked, in which files, and what a person should know."""

    pieces: int
    files: list[str]
    notes: list[str]


def refuse_live(row: Listed) -> None:
    """CortextError if somebody is writing to a conversation now, and would do so with the secret
    in memory."""
    if row.is_apart:
        holder = live_holder(mark_path(os.path.dirname(row.path), row.key))
        if holder:
            raise _is_live(row, f"{holder} has it open")
        return
    from cortext.bridges.live import live_sessions

    own = {row.key} if row.tool else set(row.native)
    for tool, id in live_sessions():
        if id in own:
            raise _is_live(row, f"it is going on in {tool}")


def redact(row: Listed, findings: Sequence[Finding] | None = None) -> Redacted:
    """Mask the secrets of one conversation in its own files, each of which is old or new at every
    instant; with `findings`, only these. What killed processes left of it is removed. A tool's own
    session has no file of ours: see `redacting_copies`. Line count, ids and times stay."""
    refuse_live(row)
    if row.tool and not row.is_apart and row.tool not in (TRASH, STATE):
        return Redacted(0, [], [f"{row.path} is the tool's own file, and is not touched"])
    had = scan_own(row)
    mask = Marker({one.secret for one in findings} if findings is not None else None)
    packed: list[str] = []
    for one in (row, *origins_of(row)):
        _in_files(one, mask, packed)
    kept = sweep(temp_folders(row))
    left = {(one.path, one.secret) for one in scan_own(row)}
    gone = [one for one in had if (one.path, one.secret) not in left]
    files = sorted({one.path for one in gone})
    notes = [f"somebody is still writing {path}: redact it again then" for path in kept]
    return Redacted(len(gone), files, [*packed, *notes, *_about_git(row, files)])


def _in_files(row: Listed, mask: Mask, notes: list[str]) -> None:
    """`notes` gets why a file has it still."""
    if row.tool == TRASH:
        files = [path for path in files_in(row.path) if not is_checkpoints(path)]
        _rewrite(files, mask, os.path.dirname(row.path), notes)
    elif row.tool == STATE:
        for path in inner_files():
            if not is_checkpoints(path):
                _in_log(as_row(path), mask, notes)
    elif not row.tool:
        _in_workspace(row, mask, notes)
    elif row.is_log:
        _in_log(row, mask, notes)
    else:
        _in_document(row, mask, notes)


def _in_workspace(row: Listed, mask: Mask, notes: list[str]) -> None:
    workspace, place = Workspace(row.root), row.place
    side = side_dir(conversations_dir(row.root))
    with workspace.changing(place):
        session: tuple[str, ...] = ()
        if os.path.lexists(place.head) and os.path.lexists(place.lines):
            session = place.head, place.lines
            workspace.store.rewrite_at(place, lambda value: masked_value(value, mask))
        others = [path for path in text_files(place) if path not in session]
        _rewrite([*others, *loose_files(row)], mask, side, notes)


def _rewrite(files: Iterable[str], mask: Mask, temp_dir: str, notes: list[str]) -> None:
    """Also in compressed ones; with its mode, and with its time if it is a copy of something."""
    for path in files:
        damages: Unread = []
        packed = is_compressed(path) or is_zstd(path)
        data = content(path, damages) if packed else read_file(path)
        new = masked_file(path, data, mask)
        if new == data:
            continue
        if packed and (reason := _why_packed(path, data, damages)):
            notes.append(f"{path} has it still: {reason}; remove it, or pack it anew")
            continue
        with storage_errors("write", path):
            found = os.stat(path)
            replace(path, members(new) if packed else [new], temp_dir=temp_dir)
            if packed:
                os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
            os.chmod(path, found.st_mode & 0o777)


def _why_packed(path: str, data: bytes, damages: Unread) -> str:
    """Why a compressed file cannot be made anew such that others read it; "" if it can."""
    if damages:
        return "it is damaged"
    if is_zstd(path):
        return "it is compressed with zstd"
    return "it is a packed folder, or no text" if b"\0" in data else ""


def _in_log(row: Listed, mask: Mask, notes: list[str]) -> None:
    from cortext.stores.log import LogStore

    folder = os.path.dirname(row.path)
    store = LogStore(folder)
    with storage_errors("write", row.path), store.changing(row.key):
        lines = read_file(row.path).split(b"\n")
        new = b"\n".join(masked_line(line, mask) for line in lines)
        replace(row.path, [new], temp_dir=side_dir(folder))
        _rewrite(beside(row.path), mask, side_dir(folder), notes)


def _in_document(row: Listed, mask: Mask, notes: list[str]) -> None:
    """Also in the version before it, which is kept beside it."""
    from cortext.durability.lock import FileLock
    from cortext.index.session_index import SessionIndex
    from cortext.stores.document import SessionStorage

    folder = os.path.dirname(row.path)
    side = side_dir(folder)
    backup = f"{row.path.removesuffix('.json')}.backup"
    with (
        storage_errors("write", row.path),
        FileLock(f"{side}/locks/{row.key}.lock", guards=row.path),
    ):
        for path in (row.path, backup):
            if os.path.isfile(path):
                replace(path, [masked_line(read_file(path), mask)], temp_dir=side)
        _rewrite(beside(row.path), mask, side, notes)
    index = SessionIndex(SessionStorage(folder))
    try:
        index.rebuild()
    finally:
        index.close()


def _about_git(row: Listed, files: Sequence[str]) -> list[str]:
    """Say so if a commit still has what was masked in these files."""
    from cortext.vcs.committed import has_committed
    from cortext.vcs.outcome import NotRecorded

    if row.tool:
        return []
    folder = row.place.folder
    try:
        known = has_committed(folder, [path for path in files if path.startswith(f"{folder}/")])
    except NotRecorded:
        return []
    return [_IN_GIT] if known else []


def _is_live(row: Listed, why: str) -> CortextError:
    return CortextError(
        f"{row.key} was not redacted: {why}", hint="end it there, then redact it again"
    )
