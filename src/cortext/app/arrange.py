"""Putting conversations in order: new titles, tags, forks."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.errors import CortextError
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Started, Workspace
from cortext.model.session import Session


def rename(row: Listed, title: str) -> Session:
    """Give a conversation another title. Its id and folder stay, so links to it hold."""
    text = " ".join(title.split())
    if not text:
        raise CortextError("a title has at least one character that can be seen")

    def change(session: Session) -> None:
        session.title = text

    return _workspace(row).change(row.address, change)


def tag(row: Listed, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Session:
    """Add tags to a conversation, and take some away."""
    wanted = [name for name in (" ".join(each.split()) for each in add) if name]

    def change(session: Session) -> None:
        kept = [name for name in session.tags if name not in remove]
        session.tags = list(dict.fromkeys([*kept, *wanted]))

    return _workspace(row).change(row.address, change)


def fork(row: Listed, *, at: int | None = None, title: str = "") -> Started:
    """A new conversation that goes on from message `at` of another; without it, from the end."""
    workspace = _workspace(row)
    parent = workspace.store.load(row.address)
    last = len(parent.messages) if at is None else at
    if last > len(parent.messages):
        raise CortextError(
            f"{row.key} has {len(parent.messages)} messages, so there is no message {last}",
            hint=f"`cortext show {row.key}` shows them",
        )
    return workspace.fork(parent, last, key=row.key, title=title, place=row.place)


def _workspace(row: Listed) -> Workspace:
    """The workspace of a conversation; one without a session gets it now."""
    workspace = Workspace(row.root)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    return workspace
