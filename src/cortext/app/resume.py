"""Finding a conversation again, and what an agent gets to go on with it."""

from __future__ import annotations

import os
from datetime import datetime
from typing import NamedTuple

from cortext import clock
from cortext.errors import CortextError
from cortext.formats.briefing import Past, context_block, render_history
from cortext.index.resolve import Candidate
from cortext.lifecycle.workspace import Workspace
from cortext.model.digest import digest
from cortext.model.ids import new_id
from cortext.model.session import Session


class Briefing(NamedTuple):
    """Everything for an agent, in the order in which it is to be read."""

    warnings: list[str]
    command: str
    document: str
    context: str
    history: str


def candidates(workspace: Workspace) -> list[Candidate]:
    """The conversations of a workspace as `resolve` takes them, the newest first."""
    return [Candidate(key, head.title, head.summary) for key, head in workspace.heads()]


def brief(workspace: Workspace, key: str) -> Briefing:
    """The briefing of a conversation. Nothing is changed by it."""
    session, damages = workspace.store.read(key)
    command = workspace.types.command(session.kind) if session.command else ""
    return Briefing(
        [*_warnings(workspace, session), *(f"{d.path}: {d.detail}" for d in damages)],
        command,
        os.path.join(workspace.store.folder_of(key), f"{session.kind or 'chat'}.md"),
        context_block(
            kind=session.kind or "chat",
            title=session.title,
            last_active=ago(session.updated_at),
            exchanges=sum(message.role == "user" for message in session.messages),
            summary=session.summary or digest(session.messages),
        ),
        render_history(
            [Past(m.role, m.timestamp, m.content) for m in session.messages],
            new_id().replace("-", ""),
        ),
    )


def activate(workspace: Workspace, key: str, *, reopen: bool) -> None:
    """A conversation goes on; one that was completed only when that is meant."""
    head = workspace.store.head(key)
    if head.status == "completed" and not reopen:
        raise CortextError(
            f"{key} was marked complete", hint="`--reopen` goes on with it all the same"
        )
    workspace.reactivate(key)


def ago(when: datetime) -> str:
    """How long ago, as people say it."""
    seconds = (clock.now() - when).total_seconds()
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if name == "day" and count == 1:
            return "yesterday"
        if count >= 1:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def _warnings(workspace: Workspace, session: Session) -> list[str]:
    found: list[str] = []
    if session.status == "completed":
        found.append("this conversation was marked complete")
    if session.prompt_hash and session.prompt_hash != workspace.types.command_hash(session.kind):
        found.append("the agent's instructions have changed since this conversation began")
    return found
