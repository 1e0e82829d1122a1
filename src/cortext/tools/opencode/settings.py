"""The settings of OpenCode, which get our MCP server. A plug-in takes the place of hooks."""

from __future__ import annotations

import os

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import McpEntry
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.settings import SettingsFile


def server_file(tool: Tool) -> SettingsFile:
    """Return the settings file for MCP servers, `opencode.jsonc` or `opencode.json`."""
    found = os.path.join(config_folder(), "opencode.jsonc")
    path = found if os.path.exists(found) else found.removesuffix("c")
    entry = {"type": "local", "command": ["cortext", "mcp"], "enabled": True}
    return SettingsFile(tool, path, McpEntry("mcp", entry))
