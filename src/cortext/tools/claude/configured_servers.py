"""The MCP servers that Claude Code starts in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from cortext.tools.claude.settings import server_file
from cortext.tools.descriptor import Tool
from cortext.tools.mcp_server_names import project_folders, read_settings, table_at

_LARGEST = 16 << 20
"""The maximum bytes of the user's `.claude.json`, which also holds much other data."""


def server_tables(tool: Tool, cwd: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of MCP servers that Claude Code starts in the folder `cwd`.

    The user's servers for all projects come first, then the user's servers for this project. The
    servers in the project's own `.mcp.json` files come last.
    """
    own = read_settings(server_file(tool).path, _LARGEST)
    yield table_at(own, "mcpServers")
    yield table_at(own, "projects", cwd, "mcpServers")
    for folder in project_folders(cwd):
        yield table_at(read_settings(os.path.join(folder, ".mcp.json")), "mcpServers")
