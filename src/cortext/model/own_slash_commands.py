"""Slash commands of ours in what a person wrote: no part of what a conversation is about."""

from __future__ import annotations

import re

_OURS = re.compile(r"\s*+/(?:workspace\.([\w-]++)|cortext)(?:\s++|\Z)")
_NO_WORDS = (None, "resume", "stop-conversation")
"""Commands that look a conversation up, or end one: what follows them is not about it."""


def without_command(text: str) -> str:
    """What a person wrote after a command of ours; all of it, if there is none."""
    found = _OURS.match(text)
    if found is None:
        return text
    return "" if found[1] in _NO_WORDS else text[found.end() :]
