"""The command lines that start Codex."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortext.model import json_codec
from cortext.tools.codex.writer import is_ours
from cortext.tools.launch_plans import Launcher, LaunchPlan

_FEATURES = ("shell_tool", "unified_exec", "multi_agent", "view_image", "goals", "apps")


class CodexLauncher(Launcher):
    """The command lines that resume sessions of `codex`, and ask questions about them.

    Codex accepts neither a slash command nor a file of instructions at its start. Therefore cortext
    writes the instructions into the session, as its last turn.
    """

    takes_empty_session = True

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        return LaunchPlan(self.tool.name, ("codex", "resume", id), cwd)

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        off = [f"features.{name}=false" for name in _FEATURES]
        off += ['web_search="disabled"', "mcp_servers={}", _untrusted(cwd)]
        settings = [word for each in off for word in ("-c", each)]
        words = ["codex", "exec", "--sandbox", "read-only", "--ephemeral", *settings, *extra]
        return LaunchPlan(self.tool.name, (*words, "fork", id, "-"), cwd)

    def knows_briefing(self, path: str) -> bool:
        return is_ours(path)


def _untrusted(cwd: str) -> str:
    """Return a Codex setting that marks a folder and its parents as untrusted for one run.

    Without this setting, Codex starts the MCP servers in the settings of the project.
    """
    folders: list[str] = []
    for folder in (os.path.abspath(cwd), os.path.realpath(cwd)):
        while folder not in folders:
            folders.append(folder)
            folder = os.path.dirname(folder)
    each = (f'{json_codec.encode(name).decode()}={{trust_level="untrusted"}}' for name in folders)
    return f"projects={{{','.join(each)}}}"
