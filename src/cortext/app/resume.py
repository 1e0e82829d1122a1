"""What an agent gets to go on with a conversation, and making it active again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.clock import ago
from cortext.errors import CortextError, InvalidTransitionError
from cortext.formats.briefing import context_block
from cortext.formats.window import render_briefing_history
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model.ids import new_id
from cortext.model.session import Session
from cortext.stores.layout import document_in


class Briefing(NamedTuple):
    """Everything for an agent, in the order in which it is to be read."""

    warnings: list[str]
    command: str
    id: str
    document: str
    context: str
    history: str


def brief(row: Listed, *, budget: int, tools: Sequence[str] | None = None) -> Briefing:
    """The briefing of a conversation. Nothing is changed by it. `tools` are those that the agent
    has now, if that is known."""
    workspace = Workspace(row.root)
    session, damages = _read(workspace, row)
    folder = row.place.folder
    document = document_in(folder)
    return Briefing(
        [*_warnings(workspace, row, session, tools), *damages],
        workspace.types.command(session.kind) if session.command else "",
        row.key,
        f"{folder}/{document}" if document else "",
        context_block(
            kind=session.kind or "chat",
            title=session.title,
            last_active=ago(row.last_active),
            exchanges=sum(message.role == "user" for message in session.messages),
            summary=session.summary or _digest(session),
        ),
        render_briefing_history(
            session,
            nonce=new_id().replace("-", ""),
            budget=budget,
            show=lambda number: f"cortext show {row.key} --message {number}",
        ),
    )


def activate(row: Listed, *, reopen: bool) -> None:
    """A conversation goes on; one that was completed only when that is meant."""
    workspace = Workspace(row.root)
    if not row.status:
        workspace.adopt(row.place, title=row.title, kind=row.kind)
    complete = CortextError(
        f"{row.key} was marked complete", hint="`--reopen` goes on with it all the same"
    )
    if row.status == "completed" and not reopen:
        raise complete
    try:
        workspace.reactivate(row.place, reopen=reopen)
    except InvalidTransitionError:
        raise complete from None


def _read(workspace: Workspace, row: Listed) -> tuple[Session, list[str]]:
    """The session, as far as there is one, and what is wrong with it."""
    if not row.status:
        command = f"/workspace.{row.kind}" if row.kind in workspace.types.names() else ""
        session = Session(row.id, title=row.title, kind=row.kind, command=command)
        return session, ["its session was deleted: only its markdown is left"]
    session, damages = workspace.store.read(row.path)
    return session, [
        f"{d.path}{'' if d.line is None else f', line {d.line}'}: {d.detail}" for d in damages
    ]


def _server_and_tool(name: str) -> str:
    """One name of an MCP tool: others write mcp__server__tool, mcp_server_tool or server_tool."""
    return "_".join(part for part in name.split("_") if part).removeprefix("mcp_")


def _digest(session: Session) -> str:
    from cortext.model.digest import digest

    return digest(session.messages)


def _warnings(
    workspace: Workspace, row: Listed, session: Session, tools: Sequence[str] | None
) -> list[str]:
    found: list[str] = []
    if row.status == "completed":
        found.append("this conversation was marked complete")
    if session.prompt_hash and session.prompt_hash != workspace.types.command_hash(session.kind):
        found.append("the agent's instructions have changed since this conversation began")
    if tools is not None:
        present = {_server_and_tool(tool) for tool in tools}
        missing = [tool for tool in session.tools if _server_and_tool(tool) not in present]
        if missing:
            found.append(f"tools that it had and that are missing now: {', '.join(missing)}")
    return found
