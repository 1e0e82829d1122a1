"""Our MCP server in the settings of a tool: the entry that tells the tool to start it."""

from __future__ import annotations

import os
from typing import Any, cast

from cortext.formats import json_edit, toml_edit
from cortext.formats.json_edit import Insertion
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.scan import own_home

NAME = "cortext"
_CALL = {"command": "cortext", "args": ["mcp"]}
_ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("mcpServers", {"type": "stdio", **_CALL}),
    "opencode": ("mcp", {"type": "local", "command": ["cortext", "mcp"], "enabled": True}),
    "gemini": ("mcpServers", _CALL),
    "codex": ("mcp_servers", _CALL),
}
TABLES = tuple(dict.fromkeys(name for name, _ in _ENTRIES.values()))


def entry_path(tool: str) -> str:
    """The file that a tool reads a person's MCP servers from, where it has one for that."""
    if tool == "claude":
        # Beside its folder, unless that is somewhere else.
        given = os.environ.get("CLAUDE_CONFIG_DIR")
        return os.path.join(given or os.path.expanduser("~"), ".claude.json")
    if tool == "opencode":
        found = os.path.join(config_folder(), "opencode.jsonc")
        return found if os.path.exists(found) else found.removesuffix("c")
    return os.path.join(own_home(tool), "settings.json" if tool == "gemini" else "config.toml")


def put_entry(tool: str, text: str) -> list[Insertion]:
    """What adds the entry; ValueError if there is one, or the text cannot have it."""
    table, entry = _ENTRIES[tool]
    if tool == "codex":
        return toml_edit.put_table(text, (table, NAME), entry)
    return json_edit.put(text, (table, NAME), entry)


def has_entry(tool: str, text: str) -> bool:
    """Whether there is a server of this name, ours or another. ValueError if it cannot be read."""
    return entry_in(tool, text) is not None


def entry_in(tool: str, text: str) -> dict[str, Any] | None:
    """The server of this name, ours or another; None if there is none. ValueError if it cannot be
    read."""
    table, _ = _ENTRIES[tool]
    servers: Any = None
    if tool == "codex":
        servers = toml_edit.value_of(text, table)
    elif text.strip("\ufeff \t\r\n"):
        value = json_edit.parse(text).at(table)
        servers = value.plain if value else None
    if not isinstance(servers, dict) or NAME not in servers:
        return None
    found: Any = cast("dict[str, Any]", servers)[NAME]
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def command_in(entry: dict[str, Any]) -> list[str]:
    """The program that an entry starts, with its arguments; empty if it starts none."""
    parts: list[Any] = []
    for key in ("command", "args"):
        value = entry.get(key)
        parts += cast("list[Any]", value) if isinstance(value, list) else [value] if value else []
    return [str(part) for part in parts]


def without_entry(tool: str, text: str) -> str:
    """The text without our entry, and what is in it now; as it is if there is another's or none."""
    table, entry = _ENTRIES[tool]
    if tool == "codex":
        return toml_edit.take_out_table(text, (table, NAME), entry)
    found = json_edit.parse(text).at(table)
    there = found.at(NAME) if found else None
    # A tool may have noted in it what the person allows.
    ours = there is not None and all(
        (value := there.at(key)) is not None and value.plain == entry[key]
        for key in ("command", "args")
        if key in entry
    )
    return json_edit.remove(text, (table, NAME)) if ours else text


def made_by(tool: str, text: str) -> list[list[str]]:
    """The keys that `put_entry` makes beside its own."""
    table, _ = _ENTRIES[tool]
    return [] if tool == "codex" or json_edit.parse(text).at(table) else [[table]]
