"""The session of an AI tool that a command was started in."""

from __future__ import annotations

import logging
import os

from cortext.app.conversations import Conversations
from cortext.bridges.registry import open_bridge
from cortext.errors import CortextError
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace

log = logging.getLogger("cortext.app")
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
    title = _title(tool, id) or f"{tool} session {id[:8]}"
    started = workspace.chat(title, {"tool": tool, "session_id": id})
    rows = conversations.list().rows
    return next(row for row in rows if row.id == started.session.id and id in row.native)


def _title(tool: str, id: str) -> str:
    """What the tool calls its session; "" if its transcript is not there or cannot be read."""
    bridge = open_bridge(tool)
    try:
        source = next((source for source in bridge.sources() if source.id == id), None)
        return bridge.glance(source).title if source else ""
    except (OSError, CortextError) as error:
        log.warning("the transcript of %s cannot be read: %s", id, error)
        return ""
