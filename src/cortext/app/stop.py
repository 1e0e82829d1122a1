"""Stopping a conversation, for now or for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.app.resume import candidates
from cortext.errors import AmbiguousIdError, CortextError, SessionNotFoundError
from cortext.index.resolve import resolve
from cortext.lifecycle.workspace import Workspace
from cortext.model.digest import digest
from cortext.model.session import Session


class Stopped(NamedTuple):
    """A conversation as it was saved."""

    key: str
    session: Session


def stop(
    workspace: Workspace, query: str | None, *, summary: str | None, completed: bool = False
) -> Stopped:
    """Save a conversation as paused, or as completed.

    Without a query it is the only active one; never a guess. Without a summary one is made
    from what was said.
    """
    key = _only_active(workspace) if query is None else _find(workspace, query)
    text = " ".join((summary or "").split())
    if not text:
        text = digest(workspace.store.load(key).messages)
    status = "completed" if completed else "paused"
    session = workspace.set_status(key, status, summary=text, reason="user")
    return Stopped(key, session)


def _only_active(workspace: Workspace) -> str:
    active = [key for key, head in workspace.heads() if head.status == "active"]
    if len(active) == 1:
        return active[0]
    if not active:
        raise CortextError(
            "no conversation is active", hint="name one: `cortext resume --list` shows them"
        )
    raise AmbiguousIdError("", active)


def _find(workspace: Workspace, query: str) -> str:
    found: Sequence[str] = [c.key for c in resolve(query, candidates(workspace))]
    if not found:
        raise SessionNotFoundError(query)
    if len(found) > 1:
        raise AmbiguousIdError(query, found)
    return found[0]
