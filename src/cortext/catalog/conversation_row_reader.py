"""Read the files of one workspace conversation and make its catalog row.

Damaged files still give a row, with as much as can be read and a note about the problem.
"""

from __future__ import annotations

import os
from contextlib import suppress
from zlib import crc32

from cortext import clock, paths
from cortext.catalog.rebuildable_database import bounded, micros
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_id_fields import shown_bindings
from cortext.catalog.row_table import ReadPosition
from cortext.catalog.row_text_redaction import redact_all, shown, told
from cortext.catalog.workspace_scan import ConversationFiles
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError, SessionStorageError, is_temporary, reason_of
from cortext.formats.folder import FOLDER, TOKENS
from cortext.formats.message_lines import decode_lines
from cortext.model import json_codec, message_dicts
from cortext.model.session import Session
from cortext.stores import workspace_layout
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath

_CHECKSUM_BYTES = 64
"""The number of bytes before a read position that its checksum covers.

If the checksum is the same, the messages before the position are unchanged.
"""


def read_conversation(
    root: str, path: str, known: ReadPosition | None, files: ConversationFiles
) -> tuple[ConversationRow, ReadPosition] | None:
    """Return the row of a conversation, and the position where the next refresh continues to read.

    `root` is the workspace, and `path` is the conversation's path in it. `known` is the position in
    the message file at which the last refresh stopped; None means that the file must be read from
    its start. If the file only grew since the last refresh, only the new lines are read. Lines
    after the file size that `files` states are left for the next refresh. Return None if the
    conversation was deleted meanwhile.

    Raises OSError or SessionStorageError for an error of the disk or the system, such as too many
    open files. Any other problem gives a row with a note.
    """
    shelf, day, name = path.rsplit("/", 2)
    place = ConversationPath(f"{root}/{shelf}", day, name)
    try:
        if not place.has_session:
            row = _row_without_session(root, path, place)
            return (row, ReadPosition()) if row else None
        head, note = _read_head(root, place)
        position, line_note = _read_lines(place, known, files)
    except FileNotFoundError:
        return None
    row = ConversationRow(
        workspace=root,
        path=path,
        key=name,
        status=head.status,
        last_active=max(micros(head.updated_at), position.last) or micros(head.created_at),
        kind=shown(head.kind),
        title=told(head.title) or name,
        summary=told(head.summary),
        note=shown(note or line_note),
        tags=redact_all(head.tags),
        created_at=micros(head.created_at),
        messages=position.messages,
        tokens=_read_token_count(place),
        model=shown(head.model),
        agent=shown(head.agent),
        owner=shown(head.owner),
        parent_id=shown(head.parent_id),
        bindings=shown_bindings(head),
        # Other conversations took place in their workspace, whose folder may have been moved.
        working_dir=shown(head.working_dir) if root == paths.personal_workspace() else "",
        stop_reason=shown(head.stop_reason),
    )
    return row, position


def _read_head(root: str, place: ConversationPath) -> tuple[Session, str]:
    """Return the head of a conversation (a session without messages), and a note.

    The note describes a problem; "" means that there is none. If the head file cannot be read, the
    head is made from the name of the folder, its date and the markdown file.
    """
    try:
        return FolderStore(root).head(f"{place.folder[len(root) + 1 :]}"), ""
    except CortextError as error:
        if isinstance(error, SessionStorageError) and is_temporary(error.errno):
            raise
        note = str(error)
    kind = workspace_layout.document_in(place.folder).removesuffix(".md")
    began = workspace_layout.guess_start(place)
    head = Session(place.name, kind=kind, created_at=began, status="paused")
    with suppress(OSError):
        head.title = workspace_layout.title_in(place.folder)
    # The last message gives the time of activity; the start is only a guess.
    head.updated_at = clock.from_micros(0)
    return head, note


def _read_token_count(place: ConversationPath) -> int:
    """Return the token count that the head file states; 0 if there is none."""
    try:
        count = message_dicts.as_dict(json_codec.decode(read_file(place.head))).get(TOKENS[0])
    except (OSError, ValueError):
        return 0
    return bounded(count) if isinstance(count, int) else 0


def _read_lines(
    place: ConversationPath, known: ReadPosition | None, files: ConversationFiles
) -> tuple[ReadPosition, str]:
    """Count the messages of a conversation. Return the new read position and a note.

    `known` is the position at which the last refresh stopped, or None. Only the lines after it are
    read, up to the file size in `files`. The new position contains the counts. The note describes a
    problem; "" means that there is none.
    """
    if files.lines is None:
        return ReadPosition(), f"{place.lines}: is missing"
    try:
        fd = open_file(place.lines)
    except OSError as error:
        if isinstance(error, FileNotFoundError) or is_temporary(error.errno):
            raise
        return ReadPosition(), f"{place.lines}: {reason_of(error)}"
    try:
        known = _check_position(fd, known, files.lines.size)
        new = read_range(fd, known.size, files.lines.size)
        complete_lines = new[: new.rfind(b"\n") + 1]
        size = known.size + len(complete_lines)
        end = read_range(fd, max(size - _CHECKSUM_BYTES, 0), size)
    finally:
        os.close(fd)
    block = decode_lines(new, FOLDER.records, first_line=known.lines + 1)
    fatal = [damage for damage in block.damages if damage.fatal]
    note = f"{place.lines}, line {fatal[0].line}: {fatal[0].detail}" if fatal else ""
    times = [micros(message.timestamp) for message in block.messages[-1:]]
    position = ReadPosition(
        size=size,
        lines=known.lines + complete_lines.count(b"\n"),
        messages=known.messages + len(block.messages),
        last=times[0] if times else known.last,
        # A last line without a newline is incomplete, and is read again later.
        end_checksum=crc32(end) if complete_lines == new else 0,
    )
    return position, note


def _check_position(fd: int, known: ReadPosition | None, size: int) -> ReadPosition:
    """Return `known`, or the start of the file if the messages before `known` changed.

    `known` is the position at which the last refresh stopped, or None. `fd` is the open message
    file, and `size` is its size.
    """
    if known is None or not known.end_checksum or known.size > size:
        return ReadPosition()
    end = read_range(fd, max(known.size - _CHECKSUM_BYTES, 0), known.size)
    return known if crc32(end) == known.end_checksum else ReadPosition()


def _row_without_session(root: str, path: str, place: ConversationPath) -> ConversationRow | None:
    """Return the row of a folder that has a markdown file, but no session files.

    Return None if the folder has no markdown file.
    """
    document = workspace_layout.document_in(place.folder)
    if not document:
        return None
    modified_at = os.stat(f"{place.folder}/{document}").st_mtime_ns // 1000
    return ConversationRow(
        workspace=root,
        path=path,
        key=place.name,
        status="",
        last_active=modified_at,
        kind=shown(document.removesuffix(".md")),
        title=told(workspace_layout.title_in(place.folder)) or place.name,
        created_at=min(micros(workspace_layout.guess_start(place)), modified_at),
    )
