"""The text of a message as the full-text index and the snippets of search results contain it."""

from __future__ import annotations

from cortext.formats.tool_call_stubs import deed, read_call
from cortext.model.message import SessionMessage


def wording(message: SessionMessage) -> str:
    """Return the text of a message, followed by a short description of each tool call."""
    if not message.tool_calls:
        return message.content
    deeds = [deed(read_call(call)) for call in message.tool_calls]
    return "\n".join([message.content, *deeds] if message.content else deeds)
