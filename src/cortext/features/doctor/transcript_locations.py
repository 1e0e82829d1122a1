"""The folders in which cortext looks for transcripts of AI tools.

A command that finds no conversation names these folders to the user.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.descriptor import Tool
from cortext.tools.registry import tools


class HistoryLocation(NamedTuple):
    """The transcript folder of a tool.

    `variable` is the environment variable that moves the folder, or "". `is_set` says whether that
    variable is set.
    """

    tool: str
    folder: str
    variable: str
    is_set: bool


def history_locations() -> list[HistoryLocation]:
    """Return the transcript folder of every AI tool, whether the folder exists or not."""
    return [
        HistoryLocation(
            tool.name,
            _history_folder(tool),
            tool.moving_variable,
            bool(os.environ.get(tool.moving_variable)),
        )
        for tool in tools()
    ]


def _history_folder(tool: Tool) -> str:
    if tool.has_databases or not tool.transcripts:
        return tool.home
    return os.path.join(tool.home, tool.transcript_roots[0])
