"""Rename, tag and fork conversations."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.catalog.row import ConversationRow, NotOursError
from cortext.errors import CortextError
from cortext.features.capture.capture import capture_pending
from cortext.features.manage.adopt import as_conversation
from cortext.model.session import Session
from cortext.workspace.workspace import Started, Workspace


def ours(row: ConversationRow) -> ConversationRow:
    """Return a row that can be edited: the row itself, if it is a conversation of a workspace.

    A session of a tool or program is made into a conversation first.
    """
    return as_conversation(row, at_rest=row.status != "active")


def as_title(words: str) -> str:
    """Return a title with single spaces between its words, as it is stored.

    Raises CortextError if the title is empty.
    """
    text = " ".join(words.split())
    if not text:
        raise CortextError("a title has at least one character that can be seen")
    return text


def rename(row: ConversationRow, title: str) -> Session:
    """Give a conversation another title. Its id and folder stay, so links to it remain valid."""
    text = as_title(title)

    def change(session: Session) -> bool:
        session.title = text
        return False

    return _workspace(row).change(row.place, change)


def tag(row: ConversationRow, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Session:
    """Add tags to a conversation, and remove others."""
    wanted, unwanted = ([_tag(name) for name in names] for names in (add, remove))

    def change(session: Session) -> bool:
        kept = [name for name in session.tags if _tag(name) not in unwanted]
        session.tags = [name for name in dict.fromkeys([*kept, *wanted]) if name]
        return False

    return _workspace(row).change(row.place, change)


def _tag(name: str) -> str:
    """Return a tag without a leading "#" and extra spaces."""
    return " ".join(name.split()).lstrip("#")


def fork(row: ConversationRow, *, at: int | None = None, title: str = "") -> Started:
    """Start a new conversation with a copy of the messages of another, up to message `at`.

    By default, all messages are copied. Raises CortextError if there is no message `at`.
    """
    row = capture_pending(row)
    workspace = _workspace(row)
    count = len(workspace.store.read_what_is_left(row.place).messages)
    if at is not None and at > count:
        raise CortextError(
            f"{row.key} has {count} messages, so there is no message {at}",
            hint=f"`cortext show {row.key}` shows them",
        )
    return workspace.fork(row.place, at, key=row.key, title=title)


def _workspace(row: ConversationRow) -> Workspace:
    """Return the workspace of a conversation. A folder without a session file gets one.

    Raises NotOursError for a session of a tool, which only the tool may change.
    """
    if row.tool:
        raise NotOursError(row.tool, row.key)
    workspace = Workspace(row.workspace)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    return workspace
