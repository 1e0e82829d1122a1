"""The session of an AI tool that a command was started in."""

from __future__ import annotations

import os

from cortext.app.conversations import Conversations
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace

_VARIABLES = {"claude": "CLAUDE_CODE_SESSION_ID"}
"""Where each tool says which session runs a command."""


def conversation_of_session(conversations: Conversations) -> Listed | None:
    """The conversation that this tool session is bound to, or a new one made for it; None outside
    any tool."""
    found = [(tool, os.environ.get(name, "")) for tool, name in _VARIABLES.items()]
    tool, id = next((pair for pair in found if pair[1]), ("", ""))
    if not id:
        return None
    bound = [row for row in conversations.list().rows if id in row.native]
    going_on = [row for row in bound if row.status == "active"]
    if bound:
        return (going_on or bound)[0]
    workspace = Workspace(conversations.root)
    started = workspace.chat(f"{tool} session {id[:8]}", {"tool": tool, "session_id": id})
    rows = conversations.list().rows
    return next(row for row in rows if row.id == started.session.id and id in row.native)
