"""The briefing: the text that an agent reads before it continues a conversation.

This module also sets the status of the conversation to active.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.clock import ago
from cortext.errors import CortextError, InvalidTransitionError
from cortext.features.listing.session_of_row import read
from cortext.formats.history_budget import render_briefing_history
from cortext.formats.history_text import context_block, escape_field, escape_lines
from cortext.model.ids import new_id
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in
from cortext.tools.mcp_server_names import mcp_servers, without_server, without_tool
from cortext.tools.registry import is_tool, tool_names
from cortext.workspace.conversation_types import Types
from cortext.workspace.workspace import Workspace

WAS_COMPLETE = "this conversation was marked complete"


class Briefing(NamedTuple):
    """The parts of a briefing, in the order in which an agent reads them.

    `command` has the instructions of the slash command that began the conversation. `id` is the
    short id of the conversation, and `document` is the path of its markdown file. `context`
    describes the conversation: type, title, time of the last activity and summary. `history` has
    its messages. Missing parts are "".
    """

    warnings: list[str]
    command: str
    id: str
    document: str
    context: str
    history: str

    @property
    def opening(self) -> str:
        """The first part of the briefing as one text: command, id, document and context."""
        about = [f"The ID of this conversation: {escape_field(self.id)}"]
        if self.document:
            about.append(f"The markdown of this conversation: {escape_field(self.document)}")
        parts = (escape_lines(self.command.rstrip("\n")), "\n".join(about), self.context)
        return "\n\n".join(part for part in parts if part)


def make_briefing(
    row: ConversationRow,
    *,
    budget: int,
    tools: Sequence[str] | None = None,
    servers: Callable[[], Sequence[str]] | None = None,
    with_history: bool = True,
) -> Briefing:
    """Return the briefing of a conversation, without changing the conversation.

    The history has at most `budget` characters. Without `with_history`, it is left out. The
    briefing warns if the conversation had tools that the agent does not have. `tools` are the
    agent's tools. If `tools` is None, the function `servers` returns the agent's MCP servers, and
    only MCP tools are compared. If both are None, there is no such warning.
    """
    session, damages = _read_session(row)
    missing = _missing_tools(session, tools, servers)
    return Briefing(
        [*_warnings(row, session, missing), *damages],
        _command_text(row, session),
        row.key,
        _document_path(row),
        context_block(
            kind=session.kind or row.kind or "chat",
            title=session.title or row.title,  # from the markdown, if the head is lost
            last_active=ago(row.last_active),
            exchanges=sum(message.role == "user" for message in session.messages),
            summary=session.summary or _summarize(session),
        ),
        render_briefing_history(
            session,
            nonce=new_id().replace("-", ""),
            budget=budget,
            show=lambda number: f"cortext show {row.key} --message {number}",
        )
        if with_history
        else "",
    )


def _summarize(session: Session) -> str:
    """Return a summary made from the messages of a session."""
    from cortext.model.extractive_summary import digest

    return digest(session.messages)


def activate(row: ConversationRow, *, reopen: bool) -> str:
    """Set the status of a conversation to active.

    Return "", or the reason why the status cannot be set: the conversation is read-only. Raises
    CortextError for a completed conversation, unless `reopen` is true. If `row` is a tool session,
    do nothing, because a tool session has no status.
    """
    if row.tool:
        return ""
    refuse_complete(row, reopen=reopen)
    if read_only := explain_read_only(row):
        return read_only
    workspace = Workspace(row.workspace)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    try:
        workspace.reactivate(row.place, reopen=reopen)
    except InvalidTransitionError:
        raise _completed_error(row) from None
    return ""


def explain_read_only(row: ConversationRow) -> str:
    """Return the reason why the folder of a conversation is read-only, or "" if it is writable.

    A read-only conversation can be continued, but its new messages are not stored in it.
    """
    if row.tool or os.access(row.place.folder, os.W_OK):
        return ""
    status = f"its status stays {row.status}" if row.status else "its status does not change"
    return f"the conversation's folder is read-only: {status}, and new messages are not saved in it"


def refuse_complete(row: ConversationRow, *, reopen: bool) -> None:
    """Raise CortextError for a completed conversation, unless `reopen` is true."""
    if row.status == "completed" and not reopen:
        raise _completed_error(row)


def _completed_error(row: ConversationRow) -> CortextError:
    return CortextError(f"{row.key} was marked complete", hint="`--reopen` resumes it anyway")


def _read_session(row: ConversationRow) -> tuple[Session, list[str]]:
    """Return the session of a conversation, and a description of each of its damaged parts.

    If the session was deleted and only the markdown file is left, return an empty session with the
    title and the type from `row`.
    """
    if not row.status:
        known = row.kind in Types(row.workspace).names()
        command = f"/workspace.{row.kind}" if known else ""
        session = Session(row.id, title=row.title, kind=row.kind, command=command)
        return session, ["the session of this conversation was deleted; only its markdown is left"]
    session, damages = read(row)
    return session, [
        f"{d.path}{'' if d.line is None else f', line {d.line}'}: {d.detail}" for d in damages
    ]


def _command_text(row: ConversationRow, session: Session) -> str:
    """Return the instructions of the slash command that began the conversation.

    The instructions may have changed since the conversation began. Return the current instructions,
    or "" if no slash command began the conversation.
    """
    if row.tool or not session.command:
        return ""
    return Types(row.workspace).command(session.kind)


def _document_path(row: ConversationRow) -> str:
    if row.tool:
        return ""
    name = document_in(row.place.folder)
    return f"{row.place.folder}/{name}" if name else ""


def configured_servers(row: ConversationRow, tool: str = "", folder: str = "") -> list[str]:
    """Return the MCP servers that are configured now for a tool in a folder.

    If `tool` is "", the last tool of the conversation is used. If the conversation has no tool, the
    servers of all tools are returned. If `folder` is "", the folder of the conversation is used.
    """
    tools = [tool] if tool else [name for name in row.tools if is_tool(name)][-1:]
    folder = folder or row.folder
    return sorted({name for each in tools or tool_names() for name in mcp_servers(each, folder)})


def _missing_tools(
    session: Session,
    tools: Sequence[str] | None,
    servers: Callable[[], Sequence[str]] | None,
) -> list[str]:
    """Return the tools that the conversation had and the agent does not have.

    `tools` are the agent's tools. If `tools` is None, the function `servers` returns the agent's
    MCP servers, and only MCP tools are compared. Return [] if both are None.
    """
    if not session.tools or (tools is None and servers is None):
        return []
    if tools is not None:
        return without_tool(session.tools, tools)
    return without_server(session.tools, servers() if servers else ())


def _warnings(row: ConversationRow, session: Session, missing: Sequence[str]) -> list[str]:
    found: list[str] = []
    if row.status == "completed":
        found.append(WAS_COMPLETE)
    recorded_hash = "" if row.tool else session.prompt_hash
    if recorded_hash and recorded_hash != Types(row.workspace).command_hash(session.kind):
        found.append("the agent's instructions have changed since this conversation began")
    if missing:
        found.append(f"tools of this conversation that are missing now: {', '.join(missing)}")
    return found
