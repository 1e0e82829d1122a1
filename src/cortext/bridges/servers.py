"""The MCP servers that a tool is configured with: their names, from the tool's own files."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from typing import Any, cast

from cortext import paths
from cortext.durability.read import read_file
from cortext.model import json

_log = logging.getLogger("cortext.bridges")
# Strings first, so that what looks like a comment in one is none.
_STRING = rb'("(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST = 16 << 20


def mcp_servers(tool: str, cwd: str) -> list[str]:
    """The names of the servers that a tool starts in a folder, sorted."""
    return sorted({name for found in _found(tool, cwd) for name in found})


def _found(tool: str, cwd: str) -> Iterator[dict[str, Any]]:
    home = os.path.expanduser("~")
    if tool == "claude":
        folder = os.environ.get("CLAUDE_CONFIG_DIR") or home
        own = _read(os.path.join(folder, ".claude.json"))
        yield _part(own, "mcpServers")
        yield _part(own, "projects", cwd, "mcpServers")
        yield _part(_read(os.path.join(cwd, ".mcp.json")), "mcpServers")
    elif tool == "gemini":
        person = os.environ.get("GEMINI_CLI_HOME") or home
        for folder in (person, cwd):
            yield _part(_read(os.path.join(folder, ".gemini/settings.json")), "mcpServers")
    elif tool == "opencode":
        for folder in (os.path.join(paths.config_home(), "opencode"), cwd):
            for name in ("opencode.json", "opencode.jsonc"):
                yield _part(_read(os.path.join(folder, name)), "mcp")
    elif tool == "codex":
        folder = os.environ.get("CODEX_HOME") or os.path.join(home, ".codex")
        yield _part(_read(os.path.join(folder, "config.toml")), "mcp_servers")


def _part(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read(path: str) -> Any:
    """A configuration; None if there is none, or none that can be read: then the tool says so."""
    try:
        if os.stat(path).st_size > _LARGEST:
            return None
        data = read_file(path)
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(data.decode("utf-8"))
        try:
            return json.decode(data)
        except ValueError:
            for pattern in (_COMMENT, _COMMA):
                data = pattern.sub(lambda found: found[1] or b"", data)
            return json.decode(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.info("%s is passed over: %s", path, error)
        return None
