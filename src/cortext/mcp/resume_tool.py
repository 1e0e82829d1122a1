"""The MCP tool that resumes a conversation in the client's session, and the MCP prompts."""

from __future__ import annotations

from functools import partial

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.bindings import bind
from cortext.features.capture.capture import capture
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.resume.agent_briefing import (
    activate,
    configured_servers,
    explain_read_only,
    make_briefing,
)
from cortext.features.slash.slash_reply_texts import section
from cortext.formats.history_text import escape_lines, render_text
from cortext.mcp import tool_arguments
from cortext.mcp.client_session import Own, own_session
from cortext.mcp.read_and_save_tools import BUDGET
from cortext.mcp.tool_answers import AnswerFacts, ConversationFacts, ToolAnswer, conversation, short
from cortext.mcp.visibility import Reach


class Resumed(AnswerFacts, kw_only=True):
    """A conversation that was resumed in the client's session.

    `briefing` is a text for the agent: the messages so far and where the conversation stopped.
    `is_kept` is True if new messages of this session are added to the conversation.
    """

    conversation: ConversationFacts
    warnings: list[str]
    is_kept: bool
    briefing: str


def resume_conversation(reach: Reach, given: tool_arguments.Resume) -> ToolAnswer:
    """Continue a past conversation in this session. The conversation becomes active, and you get
    its messages and where it stopped. Use this when the person wants to continue an earlier
    conversation."""
    row = reach.one(given.id, everywhere=given.everywhere)
    _check_resumable(reach, row, reopen=given.reopen)
    row = as_conversation(row)
    if row.status and not explain_read_only(row):
        capture(row.workspace, row.place)
    own = own_session()
    servers = partial(configured_servers, row, own.tool, reach.folder) if own else None
    briefing = make_briefing(row, budget=BUDGET, servers=servers)
    read_only = activate(row, reopen=given.reopen)
    is_bound = not read_only and _bind(row, own, reach.folder)
    note = (
        "New messages of this session belong to this conversation from now on."
        if is_bound
        else "New messages of this session are not added to this conversation automatically, "
        "because cortext could not identify the AI tool's session."
    )
    warnings = [short(warning) for warning in (*briefing.warnings, read_only) if warning]
    warning_lines = [f"Warning: {warning}" for warning in warnings]
    capture_note = "" if read_only else note
    instructions = escape_lines(section(row.workspace, "Going on"))
    parts = [
        instructions,
        "\n".join(warning_lines),
        briefing.opening,
        capture_note,
        briefing.history,
    ]
    text = "\n\n".join(part for part in parts if part)
    facts = Resumed(
        conversation=conversation(row, reach.name(row)),
        warnings=warnings,
        is_kept=is_bound,
        briefing=text,
    )
    return ToolAnswer(facts, text)


def continue_conversation(words: str) -> str:
    """Return the prompt that tells an agent to continue a conversation.

    `words` are the words of the user that name the conversation.
    """
    if not words.strip():
        return (
            "Call list_conversations and show me the latest conversations with numbers. Ask me "
            "which one to continue. Then call resume_conversation with its id and do what it says."
        )
    return (
        "Call resume_conversation for the conversation that I name below, and do what it says. If "
        "it finds several, show them with numbers and ask me. If it finds none, call "
        "search_workspace with my words and ask whether I mean one of the results. I wrote this "
        f"(each line starts with a bar):\n{render_text(words.strip())}"
    )


def stop_conversation(words: str) -> str:
    """Return the prompt that tells an agent to save and pause the conversation.

    `words` are further words of the user, or "".
    """
    text = (
        "Save this conversation and pause it. Call save_conversation with its id and one sentence "
        "under 200 characters on where we stopped: what is settled and what is open. Use the id "
        "that resume_conversation returned. If you do not know the id, call list_conversations "
        "with status active and ask me. Then print the confirmation of the tool, and nothing else."
    )
    if words.strip():
        text += f"\n\nI wrote this (each line starts with a bar):\n{render_text(words.strip())}"
    return text


def _check_resumable(reach: Reach, row: ConversationRow, *, reopen: bool) -> None:
    if row.tool == AUR:
        raise CortextError(
            f"{reach.name(row)} is a session of `aur spawn`",
            hint=f"`cortext spawn --resume {row.key}` resumes it; get_conversation reads it",
        )
    if row.status == "completed" and not reopen:
        raise CortextError(
            f"{reach.name(row)} was marked complete",
            hint="ask the person whether to continue anyway; if yes, set `reopen: true`",
        )


def _bind(row: ConversationRow, own: Own | None, folder: str) -> bool:
    """Bind (link) the client's session to a conversation, and return True.

    From then on, cortext adds new messages of the session to the conversation. `own` is the AI tool
    that started this server, and `folder` is the working folder of the session. If the client's
    session is not known for certain, do nothing and return False.
    """
    if own is None or len(own.ids) != 1:
        return False

    bind(row, own.tool, own.ids[0], cwd=folder)
    return True
