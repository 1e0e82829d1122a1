"""The MCP tool that resumes a conversation in the client's session, and the MCP prompts."""

from __future__ import annotations

from functools import partial

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.bindings import bind
from cortext.features.capture.capture import capture
from cortext.features.manage.adopt import as_conversation
from cortext.features.resume.agent_briefing import (
    activate,
    configured_servers,
    explain_read_only,
    make_briefing,
)
from cortext.features.slash.slash_texts import section
from cortext.formats.briefing import escape_lines, render_text
from cortext.mcp import tool_arguments
from cortext.mcp.conversation_tools import BUDGET
from cortext.mcp.own_session import Own, own_session
from cortext.mcp.tool_answers import AnswerFacts, ConversationFacts, ToolAnswer, conversation, short
from cortext.mcp.visibility import Reach


class Resumed(AnswerFacts, kw_only=True):
    """A conversation that was resumed in the client's session.

    `briefing` is the text with which an agent can continue the conversation. `is_kept` is True if
    new messages of this session are added to the conversation.
    """

    conversation: ConversationFacts
    warnings: list[str]
    is_kept: bool
    briefing: str


def resume_conversation(reach: Reach, given: tool_arguments.Resume) -> ToolAnswer:
    """Go on with a past conversation here: it becomes active, and you get where it stopped and what
    was said. Use it when the person wants to continue one."""
    row = reach.one(given.id, everywhere=given.everywhere)
    _check(reach, row, reopen=given.reopen)
    row = as_conversation(row)
    if row.status and not explain_read_only(row):
        capture(row.workspace, row.place)
    own = own_session()
    servers = partial(configured_servers, row, own.tool, reach.folder) if own else None
    found = make_briefing(row, budget=BUDGET, servers=servers)
    fixed = activate(row, reopen=given.reopen)
    kept = not fixed and _bind(row, own, reach.folder)
    note = (
        "What is said here from now on belongs to this conversation."
        if kept
        else "What is said here is not added to this conversation by itself: which session of "
        "which tool this is could not be told."
    )
    warnings = [short(warning) for warning in (*found.warnings, fixed) if warning]
    said = [f"Warning: {warning}" for warning in warnings]
    told = "" if fixed else note
    ours = escape_lines(section(row.workspace, "Going on"))
    parts = [ours, "\n".join(said), found.opening, told, found.history]
    text = "\n\n".join(part for part in parts if part)
    facts = Resumed(
        conversation=conversation(row, reach.name(row)),
        warnings=warnings,
        is_kept=kept,
        briefing=text,
    )
    return ToolAnswer(facts, text)


def continue_conversation(words: str) -> str:
    """The prompt by which a person goes on with a conversation."""
    if not words.strip():
        return (
            "Call list_conversations, show me the latest ones with numbers, ask which one I would "
            "like to continue, and then call resume_conversation with its id and do what it says."
        )
    return (
        "Call resume_conversation for the conversation that I name below, and do what it says. If "
        "it finds several, show them with numbers and ask me; if it finds none, call "
        "search_workspace with my words and ask whether one of those is meant. What I wrote, each "
        f"line behind a bar:\n{render_text(words.strip())}"
    )


def stop_conversation(words: str) -> str:
    """The prompt by which a person saves a conversation and pauses it."""
    text = (
        "Save this conversation and pause it: call save_conversation with its id and one sentence "
        "under 200 characters on where we stopped, what is settled and what is open. Its id is the "
        "one that resume_conversation gave; if you do not know it, call list_conversations with "
        "status active and ask me which. Then print what the tool confirms, and nothing else."
    )
    if words.strip():
        text += f"\n\nWhat I wrote, each line behind a bar:\n{render_text(words.strip())}"
    return text


def _check(reach: Reach, row: ConversationRow, *, reopen: bool) -> None:
    if row.tool == AUR:
        raise CortextError(
            f"{reach.name(row)} is a session of `aur spawn`",
            hint=f"`cortext spawn --resume {row.key}` goes on; get_conversation reads it",
        )
    if row.status == "completed" and not reopen:
        raise CortextError(
            f"{reach.name(row)} was marked complete",
            hint="ask the person whether to go on all the same; then `reopen: true`",
        )


def _bind(row: ConversationRow, own: Own | None, folder: str) -> bool:
    """Bind the client's session to a conversation, so that new messages are captured.

    `own` is the tool that started this server, and `folder` is where the session works. Return
    False if the client's session is unknown.
    """
    if own is None or len(own.ids) != 1:
        return False

    bind(row, own.tool, own.ids[0], cwd=folder)
    return True
