"""The settings of Gemini CLI, with hooks and MCP servers in one file."""

from __future__ import annotations

import os
import shutil

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import CALL, McpEntry
from cortext.tools.settings_files import Consent, SettingsFile

_POLICY = """\
[[rule]]
toolName = "run_shell_command"
commandPrefix = "cortext slash"
decision = "allow"
priority = 200
"""


def settings_file(tool: Tool) -> SettingsFile:
    """Return `settings.json` for hooks and MCP servers. Its time-outs are in milliseconds."""
    path = os.path.join(tool.home, "settings.json")
    entry = McpEntry("mcpServers", dict(CALL))
    return SettingsFile(tool, path, entry, has_events=True, timeout=10_000)


def consent(tool: Tool) -> Consent | None:
    """Return the policy file that lets Gemini CLI run our slash commands without asking the user.

    The result is None if the file exists already, or if Gemini CLI is not installed.
    """
    path = os.path.join(tool.home, "policies", "cortext.toml")
    if shutil.which(tool.executable) is None or os.path.exists(path):
        return None
    why = (
        "Gemini CLI asks each time before it runs our slash commands, and refuses them without a "
        "terminal. To allow `cortext slash` and nothing else"
    )
    return Consent(why, path, _POLICY)
