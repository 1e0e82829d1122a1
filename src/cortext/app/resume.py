"""What an agent gets to go on with a conversation, and making it active again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortext.clock import ago
from cortext.errors import CortextError, InvalidTransitionError
from cortext.formats.briefing import context_block, escape_field, escape_lines
from cortext.formats.window import render_briefing_history
from cortext.index.listed import Listed
from cortext.lifecycle.types import Types
from cortext.model.ids import new_id
from cortext.model.session import Session
from cortext.stores.layout import document_in

WAS_COMPLETE = "this conversation was marked complete"


class Briefing(NamedTuple):
    """Everything for an agent, in the order in which it is to be read."""

    warnings: list[str]
    command: str
    id: str
    document: str
    context: str
    history: str

    @property
    def opening(self) -> str:
        """All but the history, as text."""
        about = [f"The ID of this conversation: {escape_field(self.id)}"]
        if self.document:
            about.append(f"The markdown of this conversation: {escape_field(self.document)}")
        parts = (escape_lines(self.command.rstrip("\n")), "\n".join(about), self.context)
        return "\n\n".join(part for part in parts if part)


def brief(
    row: Listed,
    *,
    budget: int,
    tools: Sequence[str] | None = None,
    servers: Sequence[str] | None = None,
    with_history: bool = True,
) -> Briefing:
    """The briefing of a conversation. Nothing is changed by it. `tools` are those that the agent
    has now, and `servers` the names of its MCP servers, if that is known."""
    session, damages = _read(row)
    missing = _missing(session, tools, servers)
    return Briefing(
        [*_warnings(row, session, missing), *damages],
        _command(row, session),
        row.key,
        _document(row),
        context_block(
            kind=session.kind or row.kind or "chat",
            title=session.title or row.title,  # of a head that is lost, the markdown's
            last_active=ago(row.last_active),
            exchanges=sum(message.role == "user" for message in session.messages),
            summary=session.summary or _digest(session),
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


def activate(row: Listed, *, reopen: bool) -> str:
    """A conversation goes on; one that was completed only when that is meant. A tool's session
    has no status of ours. "", or why it stays as it was."""
    if row.tool:
        return ""
    refuse_complete(row, reopen=reopen)
    if fixed := why_fixed(row):
        return fixed
    from cortext.lifecycle.workspace import Workspace

    workspace = Workspace(row.root)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    try:
        workspace.reactivate(row.place, reopen=reopen)
    except InvalidTransitionError:
        raise _complete(row) from None
    return ""


def why_fixed(row: Listed) -> str:
    """What to say of one that can be read and not written, on a read-only disk or in somebody
    else's folder; "" for the others. It is gone on with all the same."""
    if row.tool or os.access(row.place.folder, os.W_OK):
        return ""
    status = f" {row.status}" if row.status else " as it was"
    return (
        f"its folder cannot be written: it stays{status}, and what is said now is not added to it"
    )


def refuse_complete(row: Listed, *, reopen: bool) -> None:
    """CortextError for one that was completed, unless that is meant."""
    if row.status == "completed" and not reopen:
        raise _complete(row)


def _complete(row: Listed) -> CortextError:
    return CortextError(
        f"{row.key} was marked complete", hint="`--reopen` goes on with it all the same"
    )


def _read(row: Listed) -> tuple[Session, list[str]]:
    """The session, as far as there is one, and what is wrong with it."""
    from cortext.app.reading import read

    if not row.status:
        known = row.kind in Types(row.root).names()
        command = f"/workspace.{row.kind}" if known else ""
        session = Session(row.id, title=row.title, kind=row.kind, command=command)
        return session, ["its session was deleted: only its markdown is left"]
    session, damages = read(row)
    return session, [
        f"{d.path}{'' if d.line is None else f', line {d.line}'}: {d.detail}" for d in damages
    ]


def _command(row: Listed, session: Session) -> str:
    """The text of the original command, as it is today."""
    if row.tool or not session.command:
        return ""
    return Types(row.root).command(session.kind)


def _document(row: Listed) -> str:
    if row.tool:
        return ""
    name = document_in(row.place.folder)
    return f"{row.place.folder}/{name}" if name else ""


def _server_and_tool(name: str) -> str:
    """One name of an MCP tool: others write mcp__server__tool, mcp_server_tool or server_tool."""
    return "_".join(part for part in name.split("_") if part).removeprefix("mcp_")


def _digest(session: Session) -> str:
    from cortext.model.digest import digest

    return digest(session.messages)


def _missing(
    session: Session, tools: Sequence[str] | None, servers: Sequence[str] | None
) -> list[str]:
    """The tools that a conversation had and that an agent has not, as far as that is known."""
    if tools is not None:
        present = {_server_and_tool(tool) for tool in tools}
        return [tool for tool in session.tools if _server_and_tool(tool) not in present]
    if servers is None or not session.tools:
        return []
    from cortext.bridges.servers import without_server

    return without_server(session.tools, servers)


def _warnings(row: Listed, session: Session, missing: Sequence[str]) -> list[str]:
    found: list[str] = []
    if row.status == "completed":
        found.append(WAS_COMPLETE)
    hashed = "" if row.tool else session.prompt_hash
    if hashed and hashed != Types(row.root).command_hash(session.kind):
        found.append("the agent's instructions have changed since this conversation began")
    if missing:
        found.append(f"tools that it had and that are missing now: {', '.join(missing)}")
    return found
