"""Adopt a session that belongs to no workspace: make a conversation of a workspace from it.

A tool session is bound to the conversation, so its later messages are captured too. A session of
`aur spawn` or of a program is copied, and the `parent_id` of the copy names the session as TOOL:ID.
The session itself does not change. Its later messages are copied when it is adopted again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.features.capture.bindings import ConversationRef, row_of
from cortext.features.capture.capture_permission import allow, is_allowed
from cortext.features.capture.current_conversation import make_conversation
from cortext.features.listing.session_of_row import read_all
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.workspace.known_folders import known_workspaces
from cortext.workspace.workspace import Workspace


class AdoptedConversation(msgspec.Struct, frozen=True):
    """The conversation that a session was copied into.

    `is_new` is False if the conversation existed before. `added` is the number of messages that the
    copy added. `notes` name the lines that could not be read.
    """

    ref: ConversationRef
    is_new: bool
    added: int
    notes: Sequence[str] = ()

    @property
    def row(self) -> ConversationRow:
        return row_of(self.ref)


def keep(row: ConversationRow, root: str = "") -> AdoptedConversation:
    """Copy the messages of a standalone session into a conversation, and return the conversation.

    A standalone session comes from `aur spawn` or from a program, not from an AI tool. If the
    session was not copied before, create the conversation in the workspace `root`. If `root` is "",
    use the workspace where the session took place.
    """
    session, damages, _, _ = read_all(row)
    notes = [f"{d.path}{f', line {d.line}' if d.line else ''}: {d.detail}" for d in damages]
    copy = _find_copy(row, session)
    ref = copy or _create_conversation(row, session, root or _workspace_of(row))
    added = _add_messages(Workspace(ref.root), ref.place, session)
    if copy is None:
        _write_source(row, ref, session)
    return AdoptedConversation(ref, copy is None, added, notes)


def as_conversation(row: ConversationRow, *, at_rest: bool = False) -> ConversationRow:
    """Return the row of the conversation that a session belongs to.

    If there is no conversation yet, create it in the workspace where the session took place. If
    `row` is a conversation, return it unchanged. `at_rest` means that no tool has the session open;
    the new conversation then gets the times of the session.
    """
    if not row.tool:
        return row
    if row.is_standalone:
        return keep(row).row
    ref = make_conversation(_workspace_of(row), row.tool, row.key, row.path, at_rest=at_rest)
    return row_of(ref)


def _workspace_of(row: ConversationRow) -> str:
    has_folder = row.working_dir and os.path.isdir(row.working_dir)
    return paths.workspace_root(row.working_dir) if has_folder else paths.personal_workspace()


def _find_copy(row: ConversationRow, session: Session) -> ConversationRef | None:
    """Return the conversation that a session was copied into on this machine, or None.

    `session` is the session of `row`. The conversation must have the id and the creation time of
    this session. The id alone is not enough, because two programs may use the same id. A
    conversation that came from another machine with git does not count.
    """
    created_at = micros(session.created_at)
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(list(dict.fromkeys([paths.workspace_root(), *roots])))
    for other in rows:
        if (
            other.created_at == created_at
            and f"{row.tool}:{row.key}" in other.source_ids
            and is_allowed(other.place, row.tool, row.key)
        ):
            return ConversationRef(other.workspace, other.place)
    return None


def _create_conversation(row: ConversationRow, session: Session, root: str) -> ConversationRef:
    workspace = Workspace(root)
    ended = max(session.updated_at, row.active_at)
    conversation = workspace.chat(
        row.title or session.title, {}, cwd=row.working_dir, began=session.created_at, ended=ended
    ).session
    return ConversationRef(root, workspace.store.place_of(conversation.id, conversation))


def _add_messages(workspace: Workspace, place: ConversationPath, session: Session) -> int:
    """Add the messages and tool calls of `session` to its conversation.

    Messages and tool calls that the conversation already has are skipped. The time of the
    conversation is updated too. Return the number of new messages.
    """
    stored_ids = {message.id for message in workspace.store.read_readable_part(place).messages}
    new = [message for message in session.messages if message.id not in stored_ids]
    if new:
        workspace.store.append(f"{place.day}/{place.name}", *new)

    def change(head: Session) -> bool:
        known = {call.id for call in head.tool_history}
        head.tool_history += [call for call in session.tool_history if call.id not in known]
        head.updated_at = max(head.updated_at, session.updated_at)
        return False

    workspace.change(place, change)
    return len(new)


def _write_source(row: ConversationRow, ref: ConversationRef, session: Session) -> None:
    """Write the fields of a copied session into `session.json` of its new conversation.

    The field `parent_id` names the copied session. This step must be the last step of the copy, so
    that every conversation with a `parent_id` has all messages of the copied session.
    """
    allow(ref.place, row.tool, row.key)

    def change(head: Session) -> bool:
        for name in ("agent", "model", "owner", "summary", "tags", "tools", "stop_reason"):
            setattr(head, name, getattr(session, name))
        head.total_prompt_tokens = session.total_prompt_tokens
        head.total_completion_tokens = session.total_completion_tokens
        head.status = "completed" if session.status == "completed" else "paused"
        head.native = []
        head.parent_id = f"{row.tool}:{row.key}"
        return False

    Workspace(ref.root).change(ref.place, change)
