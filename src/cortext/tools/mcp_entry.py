"""The entry for cortext's MCP server in the settings of a tool.

The entry tells the tool which command starts the server.
"""

from __future__ import annotations

from typing import Any, cast

from cortext.formats import json_edit
from cortext.formats.json_edit import Insertion

NAME = "cortext"
CALL: dict[str, Any] = {"command": "cortext", "args": ["mcp"]}


class McpEntry:
    """The entry of our MCP server in a JSON settings file.

    `table` is the key that holds all servers. `entry` is the value for our server.
    """

    def __init__(self, table: str, entry: dict[str, Any]) -> None:
        self.table: str = table
        self.entry: dict[str, Any] = entry

    def insertions(self, text: str) -> list[Insertion]:
        """Return the insertions that add our entry to the settings.

        Raises ValueError if the settings already have an entry of our name, or cannot hold an
        entry.
        """
        return json_edit.put(text, (self.table, NAME), self.entry)

    def servers(self, text: str) -> Any:
        """Return the value of the table of servers, or None if there is no table.

        Raises ValueError if the text cannot be parsed.
        """
        if not text.strip("\ufeff \t\r\n"):
            return None
        value = json_edit.parse(text).at(self.table)
        return value.plain if value else None

    def remove(self, text: str) -> str:
        """Return the settings without our entry.

        The text is unchanged if the entry of our name has another command or is missing.
        """
        found = json_edit.parse(text).at(self.table)
        there = found.at(NAME) if found else None
        # Compare only the command: the tool may have stored permissions in the entry.
        ours = there is not None and all(
            (value := there.at(key)) is not None and value.plain == self.entry[key]
            for key in ("command", "args")
            if key in self.entry
        )
        return json_edit.remove(text, (self.table, NAME)) if ours else text

    def made_keys(self, text: str) -> list[list[str]]:
        """Return the keys that `insertions` creates in addition to the entry itself."""
        return [] if json_edit.parse(text).at(self.table) else [[self.table]]

    def find(self, text: str) -> dict[str, Any] | None:
        """Return the entry with our name, or None if there is none.

        The entry may be the user's own. Raises ValueError if the text cannot be parsed.
        """
        servers = self.servers(text)
        if not isinstance(servers, dict) or NAME not in servers:
            return None
        found: Any = cast("dict[str, Any]", servers)[NAME]
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def command_in(entry: dict[str, Any]) -> list[str]:
    """Return the program that an entry starts and its arguments, or [] if the entry has none."""
    parts: list[Any] = []
    for key in ("command", "args"):
        value = entry.get(key)
        parts += cast("list[Any]", value) if isinstance(value, list) else [value] if value else []
    return [str(part) for part in parts]
