"""Rename, tag and fork conversations."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.row import ConversationRow, NotInWorkspaceError
from cortext.errors import CortextError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.manage.adopt_session import as_conversation
from cortext.model.session import Session
from cortext.workspace.workspace import Started, Workspace


def ensure_conversation(row: ConversationRow) -> ConversationRow:
    """Return the row of a conversation that can be edited.

    If `row` is a session of a tool or a program, make a conversation from it first. If `row` is
    already a conversation of a workspace, return it unchanged.
    """
    return as_conversation(row, at_rest=row.status != "active")


def as_title(words: str) -> str:
    """Return a title with single spaces between its words, as it is stored.

    Raises CortextError if the title is empty.
    """
    text = " ".join(words.split())
    if not text:
        raise CortextError("the title must not be empty")
    return text


def rename(row: ConversationRow, title: str) -> Session:
    """Give a conversation another title. Its id and folder stay, so links to it remain valid."""
    text = as_title(title)

    def change(session: Session) -> bool:
        session.title = text
        return False

    return _editable_workspace(row).change(row.place, change)


def tag(row: ConversationRow, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Session:
    """Add and remove tags of a conversation, and return its session."""
    wanted, unwanted = ([normalize_tag(name) for name in names] for names in (add, remove))

    def change(session: Session) -> bool:
        remaining = [name for name in session.tags if normalize_tag(name) not in unwanted]
        session.tags = [name for name in dict.fromkeys([*remaining, *wanted]) if name]
        return False

    return _editable_workspace(row).change(row.place, change)


def normalize_tag(name: str) -> str:
    """Return a tag without a leading "#" and extra spaces."""
    return " ".join(name.split()).lstrip("#")


def fork(row: ConversationRow, *, at: int | None = None, title: str = "") -> Started:
    """Start a new conversation with a copy of the messages of `row`, up to message number `at`.

    By default, all messages are copied. Raises CortextError if there is no message `at`.
    """
    row = capture_pending(row)
    workspace = _editable_workspace(row)
    count = len(workspace.store.read_readable_part(row.place).messages)
    if at is not None and at > count:
        raise CortextError(
            f"there is no message {at}; {row.key} has {count} messages",
            hint=f"`cortext show {row.key}` shows them",
        )
    return workspace.fork(row.place, at, key=row.key, title=title)


def _editable_workspace(row: ConversationRow) -> Workspace:
    """Return the workspace of a conversation that the user wants to edit.

    If the conversation has no session file, write one first. Raises NotInWorkspaceError for a
    session of a tool, because only the tool may change it.
    """
    if row.tool:
        raise NotInWorkspaceError(row.tool, row.key)
    workspace = Workspace(row.workspace)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    return workspace
