"""The slash commands of cortext in a person's text. They say nothing about the topic."""

from __future__ import annotations

import re

_OURS = re.compile(r"\s*+/(?:workspace\.([\w-]++)|cortext)(?:\s++|\Z)")
_NO_WORDS = (None, "resume", "stop-conversation")
"""Commands that find or end a conversation. The words after them say nothing about its topic."""


def without_command(text: str) -> str:
    """Return a person's text without a leading slash command of cortext.

    If that command finds or ends a conversation, the result is "".
    """
    found = _OURS.match(text)
    if found is None:
        return text
    return "" if found[1] in _NO_WORDS else text[found.end() :]
