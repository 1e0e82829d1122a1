"""Detection of the AI tool that started this MCP server, and of the tool's session."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.processes import ancestors
from cortext.tools.registry import find_tool, tool_names
from cortext.tools.running_sessions import live_sessions, tool_process


class Own(NamedTuple):
    """The AI tool that started this process, and the ids of the sessions that the tool has open."""

    tool: str
    ids: tuple[str, ...]


def own_session() -> Own | None:
    """Return the AI tool that started this process, and the sessions that this tool has open.

    Return None if no AI tool started this process. The list of session ids is empty if the tool has
    not written its session yet.
    """
    above = {process.pid for process in ancestors()}
    live = live_sessions()
    for tool in tool_names():
        if tool_process(tool) is None:
            continue
        # A tool may start its own program again, so any parent process may have the session.
        ids = [id for (name, id), pid in live.items() if name == tool and pid in above]
        # The variable is only a fallback, because the tool may have opened another session later.
        if not ids and (variable := os.environ.get(find_tool(tool).session_variable or "")):
            ids = [variable]
        return Own(tool, tuple(ids))
    return None
