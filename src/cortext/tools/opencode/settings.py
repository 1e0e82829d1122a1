"""The settings file of OpenCode, to which cortext adds its MCP server, but no hooks."""

from __future__ import annotations

import os

from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import McpEntry
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.settings_files import SettingsFile


def server_file(tool: Tool) -> SettingsFile:
    """Return the settings file for MCP servers.

    The file is `opencode.jsonc` if it exists, otherwise `opencode.json`.
    """
    jsonc_path = os.path.join(config_folder(), "opencode.jsonc")
    path = jsonc_path if os.path.exists(jsonc_path) else jsonc_path.removesuffix("c")
    entry = {"type": "local", "command": ["cortext", "mcp"], "enabled": True}
    return SettingsFile(tool, path, McpEntry("mcp", entry))
