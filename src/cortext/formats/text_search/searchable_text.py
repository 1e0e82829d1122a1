"""The words of a message that a search finds it by, and shows of it."""

from __future__ import annotations

from cortext.formats.tool_call_stubs import deed, read_call
from cortext.model.message import SessionMessage


def wording(message: SessionMessage) -> str:
    """What is said in a message, and what it has tools do."""
    if not message.tool_calls:
        return message.content
    deeds = [deed(read_call(call)) for call in message.tool_calls]
    return "\n".join([message.content, *deeds] if message.content else deeds)
