"""The operations of the picker on a conversation. They return a sentence to show to the user.

The picker imports this module when the user presses a key, because it takes long to import.
"""

from __future__ import annotations

import os

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_items import is_spawned
from cortext.cli.picker.row_format import name_of
from cortext.cli.unsupported_actions import cannot_delete_error, cannot_stop_error
from cortext.durability.trash_folder import TrashEntry
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import forget
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.session_of_row import read
from cortext.features.manage import edit_conversation
from cortext.features.manage import stop_conversation as stopping
from cortext.features.manage import trash as trash
from cortext.features.spawn import delete_spawned
from cortext.features.transfer.export import format_for, target_file, write_export
from cortext.formats.exports.export_formats import encode
from cortext.model.safe_text import clean
from cortext.tools.registry import display_name


def rename(row: ConversationRow, title: str) -> str:
    text = edit_conversation.as_title(title)  # raises before anything is written
    session = edit_conversation.rename(edit_conversation.ensure_conversation(row), text)
    return f'Renamed to "{clean(session.title, lines=False)}"'


def tag(row: ConversationRow, text: str) -> str:
    """Replace the tags of a conversation, and return a sentence for the user.

    `text` has the new tags, separated by spaces or commas.
    """
    wanted = text.replace(",", " ").split()
    bare = [name.lstrip("#") for name in wanted]
    old = [name for name in row.tags if name not in bare]
    tags = edit_conversation.tag(
        edit_conversation.ensure_conversation(row), add=wanted, remove=old
    ).tags
    return f"Tags: {' '.join(f'#{name}' for name in tags)}" if tags else "No tags"


def export(row: ConversationRow, path: str) -> str:
    """Write a conversation to a new file, and return a sentence for the user.

    The extension of `path` decides the format. Raises CortextError if the file exists.
    """
    if not row.status:
        raise CortextError("there is no session to export", hint=f"the document is {row.path}")
    given = os.path.expanduser(path.strip())
    if not given:
        raise CortextError("no file name was given")
    try:
        format = format_for(given)
    except CortextError as error:
        error.hint = "use the extension .md, .html, .json or .jsonl"
        raise
    session, damages = read(capture_pending(row))
    target = target_file(given, session.id, format)
    if os.path.lexists(target):
        raise CortextError(f"{target} already exists", hint="choose another name")
    write_export(target, encode(session, format), overwrite=False)
    lost = f"; {len(damages)} parts could not be read" if damages else ""
    return f"Exported to {clean(target, lines=False)}{lost}"


def stop(row: ConversationRow, *, completed: bool) -> str:
    if is_spawned(row):
        raise cannot_stop_error(row)
    stopped = stopping.stop(row, summary=None, completed=completed)
    notes = "".join(f"; {clean(note, lines=False)}" for note in stopped.notes)
    return f"{name_of(row)} is now {'completed' if completed else 'paused'}{notes}"


def delete(row: ConversationRow) -> tuple[str, TrashEntry | None]:
    """Move a conversation, or cortext's copy of a tool session, to the trash.

    Return a sentence for the user, and the new trash entry. The entry is None if cortext has no
    copy of the tool session. The tool's own session does not change.
    """
    if is_spawned(row):
        return f"Moved {name_of(row)} to the trash", delete_spawned.delete(row.key)
    if not row.tool:
        return f"Moved {name_of(row)} to the trash", trash.delete(row)
    if row.is_log:
        return f"Moved {name_of(row)} to the trash", trash.delete_log(row)
    if row.is_standalone:
        raise cannot_delete_error(row)

    forgotten = forget(row.tool, row.key, row.title)
    moved = f"Moved cortext's copy of {name_of(row)} to the trash"
    copy_text = moved if forgotten.entry else "cortext has no copy"
    tool_text = f"{display_name(row.tool)} still has its own" if forgotten.remains else ""
    return "; ".join(filter(None, (copy_text, tool_text))), forgotten.entry


def undo(entry: TrashEntry) -> str:
    return f"Restored: {clean(trash.restore(entry.id).label, lines=False)}"
