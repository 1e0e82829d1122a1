"""Import a session as a conversation of a workspace, with all its messages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import by_id, by_other_id, was_had_in
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.features.capture.capture import capture
from cortext.features.capture.current_session import make_conversation
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.adopt import keep
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.known_folders import known_workspaces


class Imported(NamedTuple):
    """The outcome of an import.

    `id` is the id of the conversation. `notes` describe what could not be read. `is_new` is False
    if the conversation existed before.
    """

    id: str
    notes: Sequence[str]
    is_new: bool = True


def already_kept(query: str) -> list[ConversationRow]:
    """Return the conversations that took place in a tool session whose id starts with `query`.

    All their messages are captured first, because an earlier import may have been interrupted.
    Return [] if a program has a session with that id.
    """
    if by_id(query, _of_programs()):
        return []
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(roots)
    found = [row for row in rows if was_had_in(row, query)]
    for row in found:
        capture(row.workspace, row.place, whole=True)
    return found


def is_own_id(name: str) -> bool:
    """Return whether a program calls one of its sessions by this id."""
    return bool(by_other_id(name, _of_programs()))


def _of_programs() -> list[ConversationRow]:
    conversations = ConversationList(paths.workspace_root(), everywhere=True)
    return conversations.list(ListFilter(tool=DOCUMENT)).rows


def import_session(row: ConversationRow, root: str | None = None) -> Imported:
    """Make a conversation of type `chat` from a session, in the workspace `root`.

    The default is the current workspace. A tool session is bound to the conversation, so its later
    messages belong to the conversation too. Later messages of any other session need another
    import.
    """
    if row.is_standalone:
        kept = keep(row, root or paths.workspace_root())
        return Imported(kept.ref.place.name, kept.notes, kept.is_new)
    at_rest = (row.tool, row.key) not in live_sessions()
    folder = root or paths.workspace_root()
    made = make_conversation(folder, row.tool, row.key, row.path, at_rest=at_rest)
    notes = capture(made.root, made.place, whole=True).notes
    return Imported(made.place.name, notes)
