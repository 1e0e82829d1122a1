"""The searchable text of a message, for the full-text index and for snippets."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.formats.tool_call_stubs import deed, read_call
from cortext.model.message import SessionMessage
from cortext.model.session import Session


def searchable_text_of(message: SessionMessage) -> str:
    """Return the text of a message, followed by a short description of each tool call."""
    if not message.tool_calls:
        return message.content
    deeds = [deed(read_call(call)) for call in message.tool_calls]
    return "\n".join([message.content, *deeds] if message.content else deeds)


def subagents_text(side: Iterable[Session]) -> str:
    """Return the searchable text of the sessions of sub-agents.

    `side` has these sessions. The text contains the messages of users and agents, without tool
    calls.
    """
    return "\n".join(
        message.content
        for session in side
        for message in session.messages
        if message.role in ("user", "assistant")
    )
