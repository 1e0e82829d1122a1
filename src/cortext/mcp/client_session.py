"""Detection of the AI tool that started this MCP server, and of the tool's session."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.registry import find_tool, tool_names
from cortext.tools.running_sessions import live_sessions, tool_process
from cortext.tools.system_processes import ancestors


class Own(NamedTuple):
    """The AI tool that started this process, and the ids of the sessions that the tool has open."""

    tool: str
    ids: tuple[str, ...]


def own_session() -> Own | None:
    """Return the AI tool that started this process, and the ids of its open sessions.

    Return None if no AI tool started this process. The list of ids is empty if the tool has not
    written its session yet.
    """
    above = {process.pid for process in ancestors()}
    live = live_sessions()
    for tool in tool_names():
        if tool_process(tool) is None:
            continue
        # Any ancestor process may have the session, because a tool may start its own program again.
        ids = [id for (name, id), pid in live.items() if name == tool and pid in above]
        # The variable may be outdated, because the tool may have opened another session later.
        if not ids and (variable := os.environ.get(find_tool(tool).session_variable or "")):
            ids = [variable]
        return Own(tool, tuple(ids))
    return None
