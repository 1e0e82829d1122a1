"""Where the histories of the AI tools are looked for, to be said when there is none."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortext.tools.scan import TOOLS, own_home

_BELOW = {"claude": "projects", "codex": "sessions", "gemini": "tmp"}
_MOVED_BY = {
    "claude": "CLAUDE_CONFIG_DIR",
    "codex": "CODEX_HOME",
    "gemini": "GEMINI_CLI_HOME",
    "opencode": "OPENCODE_DB",
}


class Looked(NamedTuple):
    """The folder of a tool, and the variable that says another, if it is set where we run."""

    tool: str
    folder: str
    variable: str
    is_set: bool


def looked() -> list[Looked]:
    """All places, whether anything is there or not."""
    return [
        Looked(
            tool,
            os.path.join(own_home(tool), _BELOW.get(tool, "")).rstrip("/"),
            _MOVED_BY[tool],
            bool(os.environ.get(_MOVED_BY[tool])),
        )
        for tool in TOOLS
    ]
