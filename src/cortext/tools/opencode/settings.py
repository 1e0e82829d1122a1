"""The settings of OpenCode, which get our MCP server; a plug-in has the place of hooks."""

from __future__ import annotations

import os

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import McpEntry
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.settings import SettingsFile


def server_file(tool: Tool) -> SettingsFile:
    """Return the file with MCP servers."""
    found = os.path.join(config_folder(), "opencode.jsonc")
    path = found if os.path.exists(found) else found.removesuffix("c")
    entry = {"type": "local", "command": ["cortext", "mcp"], "enabled": True}
    return SettingsFile(tool, path, McpEntry("mcp", entry))
