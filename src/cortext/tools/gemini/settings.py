"""The settings of Gemini CLI, with hooks and MCP servers in one file."""

from __future__ import annotations

import os
import shutil

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import CALL, McpEntry
from cortext.tools.settings import Consent, SettingsFile

_POLICY = """\
[[rule]]
toolName = "run_shell_command"
commandPrefix = "cortext slash"
decision = "allow"
priority = 200
"""


def settings_file(tool: Tool) -> SettingsFile:
    """Return the settings file. Gemini CLI counts time-outs in milliseconds."""
    path = os.path.join(tool.home, "settings.json")
    entry = McpEntry("mcpServers", dict(CALL))
    return SettingsFile(tool, path, entry, has_events=True, timeout=10_000)


def consent(tool: Tool) -> Consent | None:
    """Return the policy that lets our commands run without a question.

    None if the policy file exists, or if Gemini CLI is not installed.
    """
    path = os.path.join(tool.home, "policies", "cortext.toml")
    if shutil.which(tool.executable) is None or os.path.exists(path):
        return None
    why = (
        "Gemini CLI asks each time before our commands run; without a terminal it refuses "
        "them. To allow `cortext slash` and nothing else"
    )
    return Consent(why, path, _POLICY)
