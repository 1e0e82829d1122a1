"""Removal of our own slash commands from messages, so that titles and summaries ignore them."""

from __future__ import annotations

import re

_OURS = re.compile(r"\s*+/(?:workspace\.([\w-]++)|cortext)(?:\s++|\Z)")
_NO_WORDS = (None, "resume", "stop-conversation")
"""Commands that find or end a conversation. Titles and summaries also ignore their arguments.

None is the command `/cortext`.
"""


def without_command(text: str) -> str:
    """Return a user's message without a slash command of cortext at its start.

    If the command finds or ends a conversation, the result is "", because its arguments say nothing
    about the topic.
    """
    found = _OURS.match(text)
    if found is None:
        return text
    return "" if found[1] in _NO_WORDS else text[found.end() :]
