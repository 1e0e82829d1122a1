"""The settings of Claude Code: hooks in one file, MCP servers in another."""

from __future__ import annotations

import os

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import CALL, McpEntry
from cortext.tools.settings import SettingsFile


def hooks_file(tool: Tool) -> SettingsFile:
    """Return the settings with hooks, whose timeouts are in seconds."""
    path = os.path.join(tool.home, "settings.json")
    return SettingsFile(tool, path, has_events=True, timeout=10)


def server_file(tool: Tool) -> SettingsFile:
    """Return the file with MCP servers. It is beside the tool's folder, unless that was moved."""
    folder = os.environ.get(tool.folder_variable) or os.path.expanduser("~")
    entry = McpEntry("mcpServers", {"type": "stdio", **CALL})
    return SettingsFile(tool, os.path.join(folder, ".claude.json"), entry)
