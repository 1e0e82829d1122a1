"""The folders in which cortext looks for the transcripts of AI tools, to name when none exist."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.descriptor import Tool
from cortext.tools.registry import tools


class HistoryLocation(NamedTuple):
    """The folder of a tool, and the environment variable that moves it; "" if there is none."""

    tool: str
    folder: str
    variable: str
    is_set: bool


def history_locations() -> list[HistoryLocation]:
    """Return the folders of all tools, whether they exist or not."""
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
