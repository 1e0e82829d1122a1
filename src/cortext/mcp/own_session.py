"""The session of a tool that this server was started in."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.processes import ancestors
from cortext.tools.registry import find_tool, tool_names
from cortext.tools.running_sessions import live_sessions, tool_process


class Own(NamedTuple):
    """A tool, and its sessions that go on in the process which started us."""

    tool: str
    ids: tuple[str, ...]


def own_session() -> Own | None:
    """The tool that started us, with its sessions: none if it has written none yet."""
    above = {process.pid for process in ancestors()}
    live = live_sessions()
    for tool in tool_names():
        if tool_process(tool) is None:
            continue
        # A tool may have started its own program once more: any of them has the session.
        ids = [id for (name, id), pid in live.items() if name == tool and pid in above]
        # What a tool says of itself is from when it started us: it may be in another session now.
        if not ids and (told := os.environ.get(find_tool(tool).session_variable or "")):
            ids = [told]
        return Own(tool, tuple(ids))
    return None
