"""Check whether a session of Claude Code gets a recall text when it begins."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.model.slash_command_prefix import starts_with_own_command

_UNSAVED_OPTION = "--no-session-persistence"
"""The option that cortext uses when it runs Claude Code for one answer (`ask` and `spawn`)."""


def takes_recall(source: str, arguments: Sequence[str]) -> bool:
    """Return whether a session that begins now gets a recall text.

    A recall text tells the agent what was last decided and left open in the same project. `source`
    is Claude Code's word for why the session begins, such as "startup" or "clear". `arguments` is
    the command line of Claude Code.

    These sessions get no recall text:

    - A resumed or copied session, because it already has its history.
    - A session that starts with a slash command of cortext, because it gets a briefing.
    - A session that cortext starts to get one answer (`ask` and `spawn`).
    """
    if _UNSAVED_OPTION in arguments:
        return False
    if source == "startup":
        return not any(map(starts_with_own_command, arguments))
    return source in ("clear", "compact")
