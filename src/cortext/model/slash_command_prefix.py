"""Recognize and remove slash commands of cortext at the start of a text."""

from __future__ import annotations

import re

_OWN_COMMAND = re.compile(r"\s*+/(?:workspace\.([\w-]++)|cortext)(?:\s++|\Z)")
_WITHOUT_TOPIC = (None, "resume", "stop-conversation")
"""Slash commands that find or end a conversation. Their arguments say nothing about its topic.

None means the command `/cortext`.
"""


def without_command(text: str) -> str:
    """Return a user's message without a slash command of cortext at its start.

    If the command finds or ends a conversation, the result is "", because its arguments say nothing
    about the topic.
    """
    match = _OWN_COMMAND.match(text)
    if match is None:
        return text
    return "" if match[1] in _WITHOUT_TOPIC else text[match.end() :]


def starts_with_own_command(text: str) -> bool:
    """Return whether a text starts with a slash command of cortext."""
    return _OWN_COMMAND.match(text) is not None
