"""The MCP servers that OpenCode starts in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from cortext import paths
from cortext.tools.descriptor import Tool
from cortext.tools.mcp_server_names import project_folders, read_settings, table_at


def server_tables(tool: Tool, cwd: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of MCP servers that OpenCode starts in the folder `cwd`.

    The servers in the user's settings come first, then the servers in the project's settings.
    """
    for folder in (os.path.join(paths.config_home(), tool.name), *project_folders(cwd)):
        for name in ("opencode.json", "opencode.jsonc"):
            yield table_at(read_settings(os.path.join(folder, name)), "mcp")
