"""The MCP servers that Gemini CLI starts in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from cortext.tools.descriptor import Tool
from cortext.tools.jsonl_transcripts import listed
from cortext.tools.mcp_server_names import read_settings, table_at


def server_tables(tool: Tool, cwd: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of MCP servers that Gemini CLI starts in the folder `cwd`.

    The servers of extensions come first, then the servers in the user's settings. The servers in
    the project's settings come last.
    """
    for extension in listed(os.path.join(tool.home, "extensions")):
        settings = read_settings(os.path.join(extension.path, "gemini-extension.json"))
        yield table_at(settings, "mcpServers")
    project = os.path.join(cwd, ".gemini") if cwd else ""
    for folder in filter(None, (tool.home, project)):
        yield table_at(read_settings(os.path.join(folder, "settings.json")), "mcpServers")
