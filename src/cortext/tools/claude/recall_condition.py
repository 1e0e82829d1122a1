"""Check whether a session of Claude Code gets recall when it begins."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.model.slash_command_prefix import starts_with_own_command

_UNSAVED_OPTION = "--no-session-persistence"
"""The option that cortext uses when it runs Claude Code for one answer (`ask` and `spawn`)."""


def takes_recall(source: str, arguments: Sequence[str]) -> bool:
    """Return whether a session that begins now gets recall.

    `source` is Claude Code's word for why the session begins, such as "startup" or "clear".
    `arguments` is the command line of Claude Code.

    A session that is resumed or copied gets no recall, because it already has its history. A
    session that starts with a slash command of cortext gets a briefing instead. A run of Claude
    Code for one answer gets no recall either.
    """
    if _UNSAVED_OPTION in arguments:
        return False
    if source == "startup":
        return not any(map(starts_with_own_command, arguments))
    return source in ("clear", "compact")
