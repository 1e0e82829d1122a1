"""The settings of Codex, in one TOML file: the program that Codex notifies, and MCP servers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from cortext.formats import toml_edit
from cortext.formats.json_edit import Insertion
from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import CALL, NAME, McpEntry
from cortext.tools.settings_files import ENTRY, Edited, SettingsFile

_KEY = "notify"
_NOTIFY = ("cortext", "hook", "codex", "notify")


class CodexEntry(McpEntry):
    """The entry of our MCP server as a TOML table."""

    def insertions(self, text: str) -> list[Insertion]:
        return toml_edit.put_table(text, (self.table, NAME), self.entry)

    def servers(self, text: str) -> Any:
        return toml_edit.value_of(text, self.table)

    def remove(self, text: str) -> str:
        return toml_edit.take_out_table(text, (self.table, NAME), self.entry)

    def made_keys(self, text: str) -> list[list[str]]:
        return []


class CodexSettings(SettingsFile):
    """The file `config.toml` of Codex.

    Codex has a `notify` setting instead of hooks. The setting can name only one program. If the
    user has already set another program, cortext cannot be added.
    """

    def with_hooks(
        self,
        text: str,
        *,
        but: Sequence[str] = (),
        recall: bool = False,
        status_line: bool = False,
    ) -> Edited:
        edited = Edited(text, [], [])
        if self.missing_hooks(text):
            edited = edited.insert(toml_edit.put_first(text, _KEY, _NOTIFY), [])
        return edited if ENTRY in but else self._with_entry(edited)

    def without_hooks(self, text: str, made: Sequence[Sequence[str]]) -> str:
        text = toml_edit.take_out(text, _KEY, _NOTIFY)
        return self.entry.remove(text) if self.entry else text

    def missing_hooks(self, text: str) -> list[str]:
        return [] if toml_edit.value_of(text, _KEY) == list(_NOTIFY) else [_KEY]

    def is_complete(self, text: str, but: Sequence[str]) -> bool:
        return not {*self.missing(text)} - {*but}

    def explain_conflict(self, text: str) -> str:
        try:
            is_taken = toml_edit.value_of(text, _KEY) not in (None, list(_NOTIFY))
        except ValueError:
            return ""
        call = " ".join(_NOTIFY)
        advice = f'; to use both, let the program in this setting also run `{call} "$1"`'
        return advice if is_taken else ""


def settings_file(tool: Tool) -> SettingsFile:
    """Return `config.toml`, which holds both the notify setting and the MCP servers of Codex."""
    path = os.path.join(tool.home, "config.toml")
    return CodexSettings(tool, path, CodexEntry("mcp_servers", dict(CALL)), has_events=True)
