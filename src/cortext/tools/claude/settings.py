"""The settings of Claude Code: hooks in one file, MCP servers in another."""

from __future__ import annotations

import os

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import CALL, McpEntry
from cortext.tools.settings_files import SettingsFile


def hooks_file(tool: Tool) -> SettingsFile:
    """Return the settings file for hooks, `settings.json`. Its time-outs are in seconds.

    The file also has the command of the status line.
    """
    path = os.path.join(tool.home, "settings.json")
    return SettingsFile(tool, path, has_events=True, timeout=10, status_line="statusLine")


def server_file(tool: Tool) -> SettingsFile:
    """Return the settings file for MCP servers.

    The file is `.claude.json` in the user's home folder. If the environment variable
    `CLAUDE_CONFIG_DIR` is set, the file is in that folder instead.
    """
    folder = os.environ.get(tool.folder_variable) or os.path.expanduser("~")
    entry = McpEntry("mcpServers", {"type": "stdio", **CALL})
    return SettingsFile(tool, os.path.join(folder, ".claude.json"), entry)
