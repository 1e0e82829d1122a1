"""Read the files of one workspace conversation and make its catalog row.

Damaged files still give a row, with as much as can be read and a note about the problem.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from zlib import crc32

from cortext import clock, paths
from cortext.catalog.database import bounded, micros
from cortext.catalog.row import ConversationRow, ReadPosition
from cortext.catalog.sanitize import shown, told, told_all
from cortext.catalog.session_fields import shown_bindings
from cortext.catalog.workspace_scan import ConversationFiles
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError, reason_of
from cortext.formats.folder import FOLDER, TOKENS
from cortext.formats.record_lines import decode_lines
from cortext.model import json_codec, record_dicts
from cortext.model.session import Session
from cortext.stores import workspace_layout
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath

_END = 64
"""The number of bytes before a read position that its checksum covers.

If the checksum is the same, the messages before the position are unchanged.
"""


def read_conversation(
    root: str, path: str, old: ConversationRow | None, files: ConversationFiles
) -> ConversationRow | None:
    """Return the catalog row of the conversation at `path` below the workspace `root`.

    Return None if the conversation was deleted meanwhile. `old` is the previous row: if the message
    file only grew since then, just the new lines are read. Reading stops at the size in `files`.
    """
    shelf, day, name = path.rsplit("/", 2)
    place = ConversationPath(f"{root}/{shelf}", day, name)
    try:
        if not place.has_session:
            return _without_session(root, path, place)
        head, note = _head(root, place)
        position, line_note = _read_lines(place, old, files)
    except FileNotFoundError:
        return None
    return ConversationRow(
        workspace=root,
        path=path,
        key=name,
        status=head.status,
        last_active=max(micros(head.updated_at), position.last) or micros(head.created_at),
        kind=shown(head.kind),
        title=told(head.title) or name,
        summary=told(head.summary),
        note=shown(note or line_note),
        tags=told_all(head.tags),
        created_at=micros(head.created_at),
        messages=position.messages,
        tokens=_tokens(place),
        model=shown(head.model),
        agent=shown(head.agent),
        owner=shown(head.owner),
        parent_id=shown(head.parent_id),
        position=position,
        bindings=shown_bindings(head),
        # A project's conversation belongs to its workspace, even if that folder was moved.
        working_dir=shown(head.working_dir) if root == paths.personal_workspace() else "",
        stop_reason=shown(head.stop_reason),
    )


def _head(root: str, place: ConversationPath) -> tuple[Session, str]:
    """Return the head of a conversation (everything but its messages), and its problem or "".

    If the head file cannot be read, the head is made from the folder's name, day and markdown.
    """
    try:
        return FolderStore(root).head(f"{place.folder[len(root) + 1 :]}"), ""
    except CortextError as error:
        note = str(error)
    began = clock.from_micros(0)
    with suppress(ValueError, OverflowError):
        noon = datetime.fromisoformat(place.day).replace(hour=12).astimezone()
        began = min(noon, clock.now())
    kind = workspace_layout.document_in(place.folder).removesuffix(".md")
    head = Session(place.name, kind=kind, created_at=began, status="paused")
    with suppress(OSError):
        head.title = workspace_layout.title_in(place.folder)
    # The last message gives the time of activity; noon is only a guess for the creation time.
    head.updated_at = clock.from_micros(0)
    return head, note


def _tokens(place: ConversationPath) -> int:
    """Return the token count that the head file states; 0 if there is none."""
    try:
        counted = record_dicts.as_dict(json_codec.decode(read_file(place.head))).get(TOKENS[0])
    except (OSError, ValueError):
        return 0
    return bounded(counted) if isinstance(counted, int) else 0


def _read_lines(
    place: ConversationPath, old: ConversationRow | None, files: ConversationFiles
) -> tuple[ReadPosition, str]:
    """Read the messages that are new since `old`.

    Return the position where the next refresh starts to read, and a problem with the file or "".
    """
    if files.lines is None:
        return ReadPosition(), f"{place.lines}: is missing"
    try:
        fd = open_file(place.lines)
    except FileNotFoundError:
        raise
    except OSError as error:
        return ReadPosition(), f"{place.lines}: {reason_of(error)}"
    try:
        known = _known_position(fd, old, files.lines.size)
        new = read_range(fd, known.size, files.lines.size)
        whole = new[: new.rfind(b"\n") + 1]
        size = known.size + len(whole)
        end = read_range(fd, max(size - _END, 0), size)
    finally:
        os.close(fd)
    read = decode_lines(new, FOLDER.records, first_line=known.lines + 1)
    bad = [damage for damage in read.damages if damage.fatal]
    note = f"{place.lines}, line {bad[0].line}: {bad[0].detail}" if bad else ""
    times = [micros(message.timestamp) for message in read.messages[-1:]]
    position = ReadPosition(
        size=size,
        lines=known.lines + whole.count(b"\n"),
        messages=known.messages + len(read.messages),
        last=times[0] if times else known.last,
        # A last line without a newline is incomplete, and is read again later.
        end_checksum=crc32(end) if whole == new else 0,
    )
    return position, note


def _known_position(fd: int, old: ConversationRow | None, size: int) -> ReadPosition:
    """Return the read position of `old`, or the start of the file if earlier messages changed."""
    known = old.position if old and not old.is_damaged else None
    if known is None or not known.end_checksum or known.size > size:
        return ReadPosition()
    end = read_range(fd, max(known.size - _END, 0), known.size)
    return known if crc32(end) == known.end_checksum else ReadPosition()


def _without_session(root: str, path: str, place: ConversationPath) -> ConversationRow | None:
    """Return a row made from the markdown file of a folder that has no session files.

    Return None if the folder has no markdown file.
    """
    document = workspace_layout.document_in(place.folder)
    if not document:
        return None
    at = os.stat(f"{place.folder}/{document}").st_mtime_ns // 1000
    return ConversationRow(
        workspace=root,
        path=path,
        key=place.name,
        status="",
        last_active=at,
        kind=shown(document.removesuffix(".md")),
        title=told(workspace_layout.title_in(place.folder)) or place.name,
        created_at=at,
    )
