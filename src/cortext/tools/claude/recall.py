"""Which sessions of Claude Code get recall when they begin."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.model.own_slash_commands import starts_with_own_command

_UNSAVED_OPTION = "--no-session-persistence"
"""The option with which cortext runs Claude Code for one answer, as `ask` and `spawn` do."""


def takes_recall(source: str, arguments: Sequence[str]) -> bool:
    """Return whether a session that begins now gets recall.

    `source` is the reason of the start, as Claude Code names it. `arguments` is the command line of
    Claude Code. A session that is resumed or copied has its history already. A session that starts
    with a slash command of cortext gets a briefing instead.
    """
    if _UNSAVED_OPTION in arguments:
        return False
    if source == "startup":
        return not any(map(starts_with_own_command, arguments))
    return source in ("clear", "compact")
