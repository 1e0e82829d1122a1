"""A conversation of a workspace, made of a session that belongs to none.

That of an AI tool is bound to it. One made of a session of `aur spawn`, or of one that a program
keeps, says so in its `parent_id`, as TOOL:ID. The session itself is left as it is: what is said in
it later is taken in when the conversation is made of it again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.features.capture.bindings import Bound
from cortext.features.capture.consent import allow, is_allowed
from cortext.features.capture.current_session import chat_of, row_in_list
from cortext.features.listing.load_row import read_all
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.workspace.known_folders import known_workspaces
from cortext.workspace.workspace import Workspace


class AdoptedConversation(NamedTuple):
    """The conversation, whether it is a new one, and what could not be read of the session."""

    bound: Bound
    is_new: bool
    notes: Sequence[str] = ()

    @property
    def row(self) -> ConversationRow:
        """As lists have it."""
        return row_in_list(self.bound)


def keep(row: ConversationRow, root: str = "") -> AdoptedConversation:
    """The conversation that was made of a session before, with what is new; else a new one in a
    workspace, which is the one that the session was had in unless `root` says another."""
    session, damages, _, _ = read_all(row)
    notes = [f"{d.path}{f', line {d.line}' if d.line else ''}: {d.detail}" for d in damages]
    made = _made_before(row)
    place = made or _begin(row, session, root or _workspace_of(row))
    _take(Workspace(place.root), place.place, session)
    if made is None:
        _say_whence(row, place, session)
    return AdoptedConversation(place, made is None, notes)


def as_conversation(row: ConversationRow, *, at_rest: bool = False) -> ConversationRow:
    """A row that can be arranged: the conversation of a session, in the workspace that it was had
    in; a conversation as it is. That of a tool's session which is `at_rest` has its times."""
    if not row.tool:
        return row
    if row.is_standalone:
        return keep(row).row
    made = chat_of(_workspace_of(row), row.tool, row.key, row.path, at_rest=at_rest)
    return row_in_list(made)


def _workspace_of(row: ConversationRow) -> str:
    there = row.working_dir and os.path.isdir(row.working_dir)
    return paths.workspace_root(row.working_dir) if there else paths.personal_workspace()


def _made_before(row: ConversationRow) -> Bound | None:
    """A head comes with git: only what was made on this machine is added to."""
    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(list(dict.fromkeys([paths.workspace_root(), *roots])))
    for other in rows:
        if f"{row.tool}:{row.key}" in other.source_ids and is_allowed(
            other.place, row.tool, row.key
        ):
            return Bound(other.workspace, other.place)
    return None


def _begin(row: ConversationRow, session: Session, root: str) -> Bound:
    workspace = Workspace(root)
    ended = max(session.updated_at, row.active_at)
    made = workspace.chat(
        row.title or session.title, {}, cwd=row.working_dir, began=session.created_at, ended=ended
    ).session
    return Bound(root, workspace.store.place_of(made.id, made))


def _take(workspace: Workspace, place: ConversationPath, session: Session) -> None:
    """Add what the conversation does not have yet; the other head stays."""
    have = {message.id for message in workspace.store.read_what_is_left(place).messages}
    new = [message for message in session.messages if message.id not in have]
    if new:
        workspace.store.append(f"{place.day}/{place.name}", *new)

    def change(head: Session) -> bool:
        known = {call.id for call in head.tool_history}
        head.tool_history += [call for call in session.tool_history if call.id not in known]
        head.updated_at = max(head.updated_at, session.updated_at)
        return False

    workspace.change(place, change)


def _say_whence(row: ConversationRow, made: Bound, session: Session) -> None:
    """Last of all: a conversation that says what it was made of has everything."""
    allow(made.place, row.tool, row.key)

    def change(head: Session) -> bool:
        for name in ("agent", "model", "owner", "summary", "tags", "tools", "stop_reason"):
            setattr(head, name, getattr(session, name))
        head.total_prompt_tokens = session.total_prompt_tokens
        head.total_completion_tokens = session.total_completion_tokens
        head.status = "completed" if session.status == "completed" else "paused"
        head.native = []
        head.parent_id = f"{row.tool}:{row.key}"
        return False

    Workspace(made.root).change(made.place, change)
