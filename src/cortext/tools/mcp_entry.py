"""Our MCP server in the settings of a tool: the entry that tells the tool to start it."""

from __future__ import annotations

from typing import Any, cast

from cortext.formats import json_edit
from cortext.formats.json_edit import Insertion

NAME = "cortext"
CALL: dict[str, Any] = {"command": "cortext", "args": ["mcp"]}


class McpEntry:
    """The entry in a JSON file: `table` is the key of all servers, `entry` is ours among them."""

    def __init__(self, table: str, entry: dict[str, Any]) -> None:
        self.table: str = table
        self.entry: dict[str, Any] = entry

    def insertions(self, text: str) -> list[Insertion]:
        """Return what adds the entry. ValueError if there is one, or the text cannot have it."""
        return json_edit.put(text, (self.table, NAME), self.entry)

    def servers(self, text: str) -> Any:
        """Return the value of the table. ValueError if the text cannot be read."""
        if not text.strip("\ufeff \t\r\n"):
            return None
        value = json_edit.parse(text).at(self.table)
        return value.plain if value else None

    def remove(self, text: str) -> str:
        """Return the text without our entry; the same text if there is none of ours."""
        found = json_edit.parse(text).at(self.table)
        there = found.at(NAME) if found else None
        # A tool may have noted in it what the person allows.
        ours = there is not None and all(
            (value := there.at(key)) is not None and value.plain == self.entry[key]
            for key in ("command", "args")
            if key in self.entry
        )
        return json_edit.remove(text, (self.table, NAME)) if ours else text

    def made_keys(self, text: str) -> list[list[str]]:
        """Return the keys that `insertions` makes beside its own."""
        return [] if json_edit.parse(text).at(self.table) else [[self.table]]

    def find(self, text: str) -> dict[str, Any] | None:
        """Return the server of our name, ours or another; None if there is none. ValueError if
        the text cannot be read."""
        servers = self.servers(text)
        if not isinstance(servers, dict) or NAME not in servers:
            return None
        found: Any = cast("dict[str, Any]", servers)[NAME]
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def command_in(entry: dict[str, Any]) -> list[str]:
    """Return the program that an entry starts, with its arguments; empty if it starts none."""
    parts: list[Any] = []
    for key in ("command", "args"):
        value = entry.get(key)
        parts += cast("list[Any]", value) if isinstance(value, list) else [value] if value else []
    return [str(part) for part in parts]
