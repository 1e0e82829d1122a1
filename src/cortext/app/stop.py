"""Stopping a conversation, for now or for good."""

from __future__ import annotations

from typing import NamedTuple

from cortext.app.record import record_conversation
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model.digest import digest
from cortext.model.session import Session


class Stopped(NamedTuple):
    """A conversation as it was saved, and what there is to say about it."""

    session: Session
    notes: list[str]


def stop(row: Listed, *, summary: str | None, completed: bool = False) -> Stopped:
    """Save a conversation as paused, or as completed.

    Without a summary one is made from what was said. A folder without a session gets one.
    """
    workspace = Workspace(row.root)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    text = " ".join((summary or "").split())
    status = "completed" if completed else "paused"
    notes: list[str] = []

    def summarize(session: Session) -> str:
        return text or digest(session.messages)

    def commit(session: Session) -> None:
        verb = "done" if completed else "stop"
        notes.extend(record_conversation(workspace, row.place, session, verb=verb))

    session = workspace.set_status(
        row.address, status, summarize=summarize, reason="user", then=commit
    )
    return Stopped(session, notes)
