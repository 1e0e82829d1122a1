"""The operations of the picker on a conversation. Most return a sentence to show to the user."""

from __future__ import annotations

import os

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_items import is_spawned
from cortext.cli.standalone_refusals import not_deleted, not_stopped
from cortext.durability.trash_folder import TrashEntry
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import forget
from cortext.features.capture.capture import capture_pending
from cortext.features.listing.session_of_row import read
from cortext.features.manage import edit_conversation
from cortext.features.manage import stop as stopping
from cortext.features.manage import trash as trash
from cortext.features.spawn import cleanup
from cortext.features.transfer.export import format_for, target_file, write_export
from cortext.formats.exports.export_codec import encode
from cortext.model.safe_text import clean
from cortext.tools.registry import display_name


def name_of(row: ConversationRow) -> str:
    """Return the title of a conversation in quotes, cut to 40 characters, for use in a sentence."""
    title = row.title or row.key
    return f'"{title if len(title) <= 40 else title[:39] + "…"}"'


def told(error: Exception) -> str:
    """Return the message of an error with its hint, as one sentence for the user."""
    if not isinstance(error, (CortextError, OSError)):
        return f"something unexpected: {type(error).__name__}: {error}"
    hint = getattr(error, "hint", "")
    return f"{error}; {hint}" if hint else str(error)


def rename(row: ConversationRow, title: str) -> str:
    text = edit_conversation.as_title(title)  # checked before anything is written
    session = edit_conversation.rename(edit_conversation.ours(row), text)
    return f'it is now "{clean(session.title, lines=False)}"'


def tag(row: ConversationRow, text: str) -> str:
    """Replace the tags of a conversation by the tags in `text`.

    Spaces or commas separate the tags.
    """
    wanted = text.replace(",", " ").split()
    bare = [name.lstrip("#") for name in wanted]
    old = [name for name in row.tags if name not in bare]
    found = edit_conversation.tag(edit_conversation.ours(row), add=wanted, remove=old).tags
    return f"tagged {' '.join(f'#{name}' for name in found)}" if found else "it has no tags now"


def export(row: ConversationRow, path: str) -> str:
    """Write a conversation to a new file, in the format that the file's extension names.

    Raises CortextError if the file exists.
    """
    if not row.status:
        raise CortextError("only its own file is there", hint=f"it is {row.path}")
    given = os.path.expanduser(path.strip())
    if not given:
        raise CortextError("say which file")
    try:
        format = format_for(given)
    except CortextError as error:
        error.hint = "the ending says how: .md, .html, .json, .jsonl"
        raise
    session, damages = read(capture_pending(row))
    target = target_file(given, session.id, format)
    if os.path.lexists(target):
        raise CortextError(f"{target} is there already", hint="give it another name")
    write_export(target, encode(session, format), overwrite=False)
    lost = f"; {len(damages)} parts could not be read" if damages else ""
    return f"it is in {clean(target, lines=False)}{lost}"


def stop(row: ConversationRow, *, completed: bool) -> str:
    if is_spawned(row):
        raise not_stopped(row)
    done = stopping.stop(row, summary=None, completed=completed)
    notes = "".join(f"; {clean(note, lines=False)}" for note in done.notes)
    return f"{name_of(row)} is {'completed' if completed else 'paused'}{notes}"


def delete(row: ConversationRow) -> tuple[str, TrashEntry | None]:
    """Move a conversation, or our copy of a tool session, to the trash.

    Return a sentence for the user, and the trash entry that can be restored or None.
    """
    if is_spawned(row):
        return f"{name_of(row)} is in the trash", cleanup.delete(row.key)
    if not row.tool:
        return f"{name_of(row)} is in the trash", trash.delete(row)
    if row.is_log:
        return f"{name_of(row)} is in the trash", trash.delete_log(row)
    if row.is_standalone:
        raise not_deleted(row)

    done = forget(row.tool, row.key, row.title)
    ours = f"our copy of {name_of(row)} is in the trash" if done.entry else "there was no copy"
    theirs = f"{display_name(row.tool)} keeps its own" if done.remains else ""
    return "; ".join(filter(None, (ours, theirs))), done.entry


def undo(entry: TrashEntry) -> str:
    return f"back again: {clean(trash.restore(entry.id).label, lines=False)}"
