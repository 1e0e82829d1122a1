"""Taking secrets out of what is ours: conversations of workspaces, sessions of `aur spawn`, and
documents of programs. What a tool itself keeps is never touched.

In the place of each stands `[redacted FAMILY FINGERPRINT]`; the fingerprint is keyed, so that the
same secret has the same one, and nobody without the key can try passwords on it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.app.scanning import Finding, scan_one, set_aside_of, text_files
from cortext.durability.live import live_holder, mark_path
from cortext.durability.read import read_file
from cortext.durability.replace import (
    link_or_copy,
    make_private_dir,
    remove_if_there,
    replace,
    side_dir,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.errors import CortextError
from cortext.formats import checksum
from cortext.index.listed import AUR, Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model import json
from cortext.model.escapes import Plain
from cortext.model.secrets import Mask, mask_text, mask_value
from cortext.stores.layout import conversations_dir

_KEPT = ("id", "timestamp", "role", "tool_call_id", "session_id", "conversation_id")
"""What names a record or a session, and when: it stays whatever it looks like."""
_DIGITS = 12
_KEY_BYTES = 32
_IN_GIT = (
    "git still has the secret in its history, which is not touched: change the secret, or rewrite "
    "the history with a tool for that"
)


class Redacted(NamedTuple):
    """How many secrets were masked, in which files, and what a person should know."""

    pieces: int
    files: list[str]
    notes: list[str]


def marker(wanted: Collection[str] | None = None) -> Mask:
    """The mask of redaction; with `wanted`, of these secrets only."""
    key = _key()

    def mask(kind: str, secret: str) -> str | None:
        plain = Plain(secret).text
        if wanted is not None and plain not in wanted:
            return None
        made = hmac.new(key, plain.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[redacted {kind} {made.hexdigest()[:_DIGITS]}]"

    return mask


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
    instant; with `findings`, only these. A tool's own session has no file of ours: see
    `redacting_copies`. Line count, ids and times stay."""
    refuse_live(row)
    if row.tool and not row.is_apart:
        return Redacted(0, [], [f"{row.path} is the tool's own file, and is not touched"])
    had = scan_one(row)
    mask = marker({one.secret for one in findings} if findings is not None else None)
    if not row.tool:
        _in_workspace(row, mask)
    elif row.tool == AUR:
        _in_log(row, mask)
    else:
        _in_document(row, mask)
    left = {(one.message, one.role, one.secret) for one in scan_one(row)}
    gone = [one for one in had if (one.message, one.role, one.secret) not in left]
    files = sorted({one.path for one in gone})
    return Redacted(len(gone), files, _about_git(row, files))


def forget_words(rows: Sequence[Listed]) -> None:
    """Leave no word of what these conversations held in the lists and the search index, which are
    made anew when they are needed."""
    from cortext.app.conversations import Conversations
    from cortext.app.indexing import purge
    from cortext.index.catalog import Catalog
    from cortext.index.spawned import SpawnIndex
    from cortext.index.words import Words

    changed = {row.identity for row in rows}
    everything = Conversations(paths.workspace_root(), everywhere=True).list(copies=True).rows
    with Words.at_home() as words:
        purge(words, [row for row in everything if row.identity not in changed])
    with Catalog.at_home() as catalog:
        catalog.purge()
    with SpawnIndex(paths.spawn_sessions()) as spawned:
        spawned.purge()


def masked_value(value: Any, mask: Mask) -> Any:
    """JSON or text without its secrets; what names it stays."""
    if isinstance(value, str):
        return mask_text(value, mask)[0]
    masked = mask_value(value, mask)[0]
    if not isinstance(value, dict) or not isinstance(masked, dict):
        return masked
    old = cast("dict[str, Any]", value)
    kept = {key: old[key] for key in _KEPT if key in old and key in masked}
    return cast("dict[str, Any]", masked) | kept


def masked_line(line: bytes, mask: Mask) -> bytes:
    """One line of a log, or any JSON text, without its secrets; the same bytes if it has none."""
    text = line.decode("utf-8", "surrogateescape")
    try:
        value = json.decode(line)
    except ValueError:
        return mask_text(text, mask)[0].encode("utf-8", "surrogateescape")
    masked = masked_value(value, mask)
    found = line if masked == value else json.encode(masked)
    # Of a key that stands twice, JSON has the second value only.
    found = mask_text(found.decode("utf-8", "surrogateescape"), mask)[0].encode(
        "utf-8", "surrogateescape"
    )
    return line if found == line else checksum.reseal(found)


def _in_workspace(row: Listed, mask: Mask) -> None:
    workspace, place = Workspace(row.root), row.place
    side = side_dir(conversations_dir(row.root))
    with workspace.changing(place):
        if place.has_session:
            workspace.store.rewrite_at(place, lambda value: masked_value(value, mask))
        others = [*set_aside_of(place.head), *set_aside_of(place.lines)]
        for path in (*text_files(place), *others):
            _rewrite(path, lambda text: mask_text(text, mask)[0], side)


def _rewrite(path: str, change: Callable[[str], str], temp_dir: str) -> None:
    data = read_file(path)
    new = change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if new != data:
        with storage_errors("write", path):
            mode = os.stat(path).st_mode & 0o777
            replace(path, [new], temp_dir=temp_dir)
            os.chmod(path, mode)


def _in_log(row: Listed, mask: Mask) -> None:
    from cortext.stores.log import LogStore

    folder = os.path.dirname(row.path)
    store = LogStore(folder)
    with storage_errors("write", row.path), store.changing(row.key):
        lines = read_file(row.path).split(b"\n")
        new = b"\n".join(masked_line(line, mask) for line in lines)
        replace(row.path, [new], temp_dir=side_dir(folder))
        for path in set_aside_of(row.path):
            _rewrite(path, lambda text: mask_text(text, mask)[0], side_dir(folder))


def _in_document(row: Listed, mask: Mask) -> None:
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
        for path in set_aside_of(row.path):
            _rewrite(path, lambda text: mask_text(text, mask)[0], side)
    index = SessionIndex(SessionStorage(folder))
    try:
        index.rebuild()
    finally:
        index.close()


def _about_git(row: Listed, files: Sequence[str]) -> list[str]:
    """That a commit keeps what it has."""
    from cortext.vcs.repository import has_git_above

    if row.tool or not files or not has_git_above(row.place.folder):
        return []
    from cortext.vcs.run import Git, find_git

    program = find_git()
    if program is None:
        return []
    asked = Git(program, row.place.folder).run("log", "-1", "--format=%h", "--", *files)
    if asked.code or not asked.out.strip():
        return []
    return [_IN_GIT]


def _key() -> bytes:
    """Made once, for this user only."""
    path = paths.redaction_key()
    with storage_errors("write", path):
        try:
            return _checked(read_file(path), path)
        except FileNotFoundError:
            make_private_dir(os.path.dirname(path))
        temp = os.path.join(os.path.dirname(path), temp_name("redaction.key"))
        try:
            write_new(temp, [os.urandom(_KEY_BYTES)])
            link_or_copy(temp, path)
        except FileExistsError:
            pass  # another process made it meanwhile: that one counts
        finally:
            remove_if_there(temp)
        return _checked(read_file(path), path)


def _checked(key: bytes, path: str) -> bytes:
    """A key that is cut, or empty, would let anybody try what was masked."""
    if len(key) != _KEY_BYTES:
        raise CortextError(
            f"the key of redaction is damaged: {path} has {len(key)} bytes, not {_KEY_BYTES}",
            hint="put it back from a backup, or remove it: what is masked then gets new marks",
        )
    return key


def _is_live(row: Listed, why: str) -> CortextError:
    return CortextError(
        f"{row.key} was not redacted: {why}", hint="end it there, then redact it again"
    )
