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
    """The entry for cortext's MCP server in a JSON settings file of a tool.

    `table` is the top-level key of the table that holds the entries of all servers. `entry` is the
    value of our entry.
    """

    def __init__(self, table: str, entry: dict[str, Any]) -> None:
        self.table: str = table
        self.entry: dict[str, Any] = entry

    def insertions(self, text: str) -> list[Insertion]:
        """Return the text insertions that add our entry to the settings `text`.

        Raises ValueError if the settings already have an entry with the name `cortext`, or if the
        entry cannot be inserted.
        """
        return json_edit.put(text, (self.table, NAME), self.entry)

    def servers(self, text: str) -> Any:
        """Return the table of MCP servers in the settings `text`, or None if there is no table.

        Raises ValueError if the text cannot be parsed.
        """
        if not text.strip("\ufeff \t\r\n"):
            return None
        value = json_edit.parse(text).at(self.table)
        return value.plain if value else None

    def remove(self, text: str) -> str:
        """Return the settings `text` without our entry.

        If the entry `cortext` is missing or starts another command, return `text` itself.
        """
        servers = json_edit.parse(text).at(self.table)
        existing = servers.at(NAME) if servers else None
        # Compare only the command: the tool may have stored permissions in the entry.
        is_ours = existing is not None and all(
            (value := existing.at(key)) is not None and value.plain == self.entry[key]
            for key in ("command", "args")
            if key in self.entry
        )
        return json_edit.remove(text, (self.table, NAME)) if is_ours else text

    def made_keys(self, text: str) -> list[list[str]]:
        """Return the key of the table of servers if `insertions` must add this table to `text`.

        The result is a list with one path of keys, such as `[["mcpServers"]]`. If the settings
        `text` already have the table, the result is []. Callers store the result. When they remove
        our entry later, they can also remove the table if it is empty.
        """
        return [] if json_edit.parse(text).at(self.table) else [[self.table]]

    def find(self, text: str) -> dict[str, Any] | None:
        """Return the entry with the name `cortext` in the settings `text`, or None.

        The user may have written the entry. Raises ValueError if the text cannot be parsed.
        """
        servers = self.servers(text)
        if not isinstance(servers, dict) or NAME not in servers:
            return None
        found: Any = cast("dict[str, Any]", servers)[NAME]
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def command_in(entry: dict[str, Any]) -> list[str]:
    """Return the command line of an MCP server's entry, or [] if the entry has no command."""
    parts: list[Any] = []
    for key in ("command", "args"):
        value = entry.get(key)
        parts += cast("list[Any]", value) if isinstance(value, list) else [value] if value else []
    return [str(part) for part in parts]
