"""Stop a conversation: pause or complete it."""

from __future__ import annotations

import msgspec

from cortext.catalog.row import ConversationRow
from cortext.errors import InvalidTransitionError
from cortext.features.capture.capture import capture
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.manage.commit_without_secrets import Recorder
from cortext.model.secrets.detector import mask_text
from cortext.model.session import Session
from cortext.workspace.workspace import Workspace


class Stopped(msgspec.Struct, frozen=True):
    """The title and summary of a stopped conversation, without secrets, and notes for the user."""

    title: str
    summary: str
    notes: list[str]


def stop(row: ConversationRow, *, summary: str | None, completed: bool = False) -> Stopped:
    """Capture the new messages of a conversation, and save it as paused or as completed.

    If `row` is a tool session, make a conversation from it first. If `summary` is None, make a
    summary from the messages. A conversation folder without a session file gets one. The
    conversation is committed to git if the settings say so.
    """
    row = as_conversation(row)
    workspace = Workspace(row.workspace)
    recorder = Recorder(workspace)
    notes: list[str] = []

    def commit(session: Session) -> None:
        verb = "done" if completed else "stop"
        notes.extend(recorder.record(row.place, session, verb=verb))

    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    notes += [f"warning: {note}" for note in capture(row.workspace, row.place, whole=True).notes]
    try:
        session = workspace.stop(row.place, summary=summary or "", completed=completed, then=commit)
    except InvalidTransitionError as error:
        reopen = f"`cortext resume {row.key} --reopen` continues it"
        error.hint = f"{reopen}; `cortext done {row.key}` saves it and leaves it completed"
        raise
    title, outline = mask_text(session.title)[0], mask_text(session.summary)[0]
    return Stopped(title, outline, notes)
