"""Import a session as a conversation of a workspace, with all its messages."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import by_id, by_other_id, has_bound_session
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.features.capture.capture import capture
from cortext.features.capture.current_conversation import make_conversation
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.adopt_session import keep
from cortext.tools.running_sessions import live_sessions
from cortext.workspace.known_folders import known_workspaces


class Imported(msgspec.Struct, frozen=True):
    """The outcome of an import.

    `id` is the id of the conversation. `notes` name the parts that could not be read. If the
    conversation existed before the import, `is_new` is False, and `added` is the number of messages
    that were added to the conversation.
    """

    id: str
    notes: Sequence[str]
    is_new: bool = True
    added: int = 0


def find_imported(query: str) -> list[ConversationRow]:
    """Return the conversations that were imported from a tool session whose id starts with `query`.

    The missing messages of these conversations are captured first, because an earlier import may
    have been interrupted. Return [] if `query` is the id of a program's session.
    """
    if by_id(query, _program_sessions()):
        return []
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(roots)
    found = [row for row in rows if has_bound_session(row, query)]
    for row in found:
        capture(row.workspace, row.place, whole=True)
    return found


def is_program_id(name: str) -> bool:
    """Return whether `name` is the id that a program itself gave to one of its sessions."""
    return bool(by_other_id(name, _program_sessions()))


def _program_sessions() -> list[ConversationRow]:
    conversations = ConversationList(paths.workspace_root(), everywhere=True)
    return conversations.list(ListFilter(tool=DOCUMENT)).rows


def import_session(row: ConversationRow, root: str | None = None) -> Imported:
    """Create a conversation of type `chat` from a session, in the workspace `root`.

    If `root` is None, the current workspace is used. A tool session is bound to the conversation,
    so its later messages are captured too. The later messages of any other session need another
    import.
    """
    if row.is_standalone:
        adopted = keep(row, root or paths.workspace_root())
        return Imported(adopted.ref.place.name, adopted.notes, adopted.is_new, adopted.added)
    at_rest = (row.tool, row.key) not in live_sessions()
    folder = root or paths.workspace_root()
    ref = make_conversation(folder, row.tool, row.key, row.path, at_rest=at_rest)
    notes = capture(ref.root, ref.place, whole=True).notes
    return Imported(ref.place.name, notes)
