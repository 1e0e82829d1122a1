"""Code that adds our hooks and our MCP server to the settings of a tool, and removes them.

The rest of the settings stays the same, byte for byte. Cortext never writes trust, permissions,
policies or approvals, because only the user may give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from cortext.formats import json_edit
from cortext.formats.json_edit import Insertion
from cortext.tools.descriptor import Tool
from cortext.tools.mcp_entry import McpEntry
from cortext.tools.registry import find_tool

ENTRY = "the MCP server"
"""The item for our MCP server in a list of hook events, for example in the result of `missing`."""
MADE = ("hooks", "mcpServers", "mcp", "mcp_servers")
"""The top-level keys that cortext may have created in a settings file."""
RECALL = "--recall"
"""The option of `cortext hook` that turns recall on, in the command of a tool's hook."""
STATUS_LINE = "cortext statusline"
"""The command that prints our status line."""
_STATUS_LINE_SECONDS = 30
"""How often the tool runs our status line while nothing happens.

The line says how much time is left, and the costs are updated after the line is printed.
"""
_BLANK = "\ufeff \t\r\n"

Steps = list[list[tuple[int, int]]]


class Edited(msgspec.Struct, frozen=True):
    """The text of a settings file after our changes, and what the changes added.

    `steps` has one item for each call of `insert`: a list with the start and the end of each text
    that the call added. `made` has a path of keys, such as `["hooks", "Stop"]`, for each key that
    our changes created.
    """

    text: str
    steps: Steps
    made: list[list[str]]

    def insert(self, insertions: list[Insertion], made: list[list[str]]) -> Edited:
        """Return the settings after more insertions.

        `made` has a path of keys for each key that these insertions create.
        """
        step: list[tuple[int, int]] = []
        shift = 0
        for at, added in sorted(insertions, key=lambda each: each.at):
            step.append((at + shift, at + shift + len(added)))
            shift += len(added)
        text = json_edit.insert(self.text, insertions)
        return Edited(text, [*self.steps, step], [*self.made, *made])


class Consent(msgspec.Struct, frozen=True):
    """A permission that only the user can give, by writing `content` to the file `path`.

    `why` tells the user the reason.
    """

    why: str
    path: str
    content: str


class SettingsFile:
    """A JSON settings file of a tool, to which cortext adds hooks, its MCP server, or both.

    `entry` is the entry for the MCP server, or None if the file is not for servers. `has_events` is
    whether the file is for hooks. `timeout` is how long the tool waits for a hook, in seconds or
    milliseconds, as the tool requires. `status_line` is the key of the setting for the status line,
    or "" if the file has no such setting.
    """

    def __init__(
        self,
        tool: Tool,
        path: str,
        entry: McpEntry | None = None,
        *,
        has_events: bool = False,
        timeout: int = 0,
        status_line: str = "",
    ) -> None:
        self.tool: Tool = tool
        self.path: str = path
        self.entry: McpEntry | None = entry
        self.events: tuple[str, ...] = tool.hook_events if has_events else ()
        self._status_line = status_line
        self._timeout = timeout
        """How long the tool waits for a hook, in the unit that the tool requires."""

    def with_hooks(
        self,
        text: str,
        *,
        but: Sequence[str] = (),
        recall: bool = False,
        status_line: bool = False,
    ) -> Edited:
        """Return the settings `text` with our hooks and our MCP server.

        `but` holds the names of hook events to leave out. If `but` contains `ENTRY`, the server is
        left out. If `recall` is true, the hook at the start of a session turns recall on. If
        `status_line` is true, our status line is added too, unless the user has a status line.

        If the server cannot be added to a file that is also for hooks, only the hooks are added.
        Raises ValueError with the reason if the hooks cannot be added, or if the server cannot be
        added to a file that is only for servers.
        """
        edited = Edited(text, [], [])
        if not text.strip(_BLANK):
            edited = edited.insert([Insertion(len(text), "{}\n")], [])
        for event in self.events:
            edited = edited if event in but else self._with_event(edited, event, recall=recall)
        if status_line and self._status_line:
            edited = self._with_status_line(edited)
        return edited if ENTRY in but else self._with_entry(edited)

    def without_hooks(self, text: str, made: Sequence[Sequence[str]]) -> str:
        """Return the settings `text` without our hooks and our MCP server.

        The user may have edited the file since setup. `made` has a path of keys for each key that
        cortext created. If such a key has an empty value now, the key is removed too. Raises
        ValueError if the text cannot be parsed.
        """
        if not text.strip(_BLANK):
            return text
        for event in self.events:
            text = self._without_event(text, event)
        if self.has_status_line(text):
            text = json_edit.remove(text, [self._status_line])
        text = self.entry.remove(text) if self.entry else text
        for path in sorted(made, key=len, reverse=True):
            if _has_path(plain := json_edit.parse(text).plain, path) and not _value_at(plain, path):
                text = json_edit.remove(text, path)
        return text

    def missing_hooks(self, text: str) -> list[str]:
        """Return the names of the hook events for which the settings `text` lack our hook.

        Raises ValueError if the text cannot be parsed.
        """
        plain: Any = json_edit.parse(text).plain if text.strip(_BLANK) else {}
        return [
            event
            for event in self.events
            if not any(self._is_ours(hook) for hook in _hooks_of(plain, event))
        ]

    def missing(self, text: str) -> list[str]:
        """Return the names of the hook events for which the settings `text` lack our hook.

        If the file is for servers and our MCP server is missing, the result also has `ENTRY`.
        Raises ValueError if the text cannot be parsed.
        """
        hooks = self.missing_hooks(text) if self.events else []
        return [*hooks, ENTRY] if self.entry and self.entry.find(text) is None else hooks

    def has_hooks(self, text: str) -> bool:
        """Return whether the settings `text` have all our hooks.

        The result is False if the text cannot be parsed.
        """
        try:
            return not self.missing_hooks(text)
        except ValueError:
            return False

    def has_recall(self, text: str) -> bool:
        """Return whether the settings `text` have our hook with the option that turns recall on.

        Raises ValueError if the text cannot be parsed.
        """
        event = self.tool.recall_event
        if event not in self.events or not text.strip(_BLANK):
            return False
        wanted = self._command(event, recall=True)
        hooks = _hooks_of(json_edit.parse(text).plain, event)
        return any(_value_at(hook, ["command"]) == wanted for hook in hooks)

    def has_status_line(self, text: str) -> bool:
        """Return whether the settings `text` have our status line.

        Raises ValueError if the text cannot be parsed.
        """
        if not self._status_line or not text.strip(_BLANK):
            return False
        path = [self._status_line, "command"]
        return _value_at(json_edit.parse(text).plain, path) == STATUS_LINE

    def has_foreign_status_line(self, text: str) -> bool:
        """Return whether the settings `text` have a status line that is not ours.

        Raises ValueError if the text cannot be parsed.
        """
        if not self._status_line or not text.strip(_BLANK):
            return False
        is_set = _has_path(json_edit.parse(text).plain, [self._status_line])
        return is_set and not self.has_status_line(text)

    def is_complete(self, text: str, but: Sequence[str]) -> bool:
        """Return True if the settings `text` certainly have everything that setup would add.

        `but` holds the names of what setup must leave out, as in `with_hooks`. False means that the
        caller must call `with_hooks` and compare the result with the text. This class always
        returns False, but a subclass may return True.
        """
        return False

    def explain_conflict(self, text: str) -> str:
        """Return advice for the user about a conflict in the settings `text`, or "".

        There is a conflict if the setting for our hook already has another program as its value.
        """
        return ""

    def _with_event(self, edited: Edited, event: str, *, recall: bool) -> Edited:
        plain = json_edit.parse(edited.text).plain
        if any(self._is_ours(hook) for hook in _hooks_of(plain, event)):
            return edited
        hook = {"type": "command", "command": self._command(event, recall=recall)}
        element = {"hooks": [{**hook, "timeout": self._timeout}]}
        path = ["hooks", event]
        made = [path[:depth] for depth in (1, 2) if not _has_path(plain, path[:depth])]
        return edited.insert(json_edit.append(edited.text, path, element), made)

    def _with_status_line(self, edited: Edited) -> Edited:
        if _has_path(json_edit.parse(edited.text).plain, [self._status_line]):
            return edited
        value = {
            "type": "command",
            "command": STATUS_LINE,
            "refreshInterval": _STATUS_LINE_SECONDS,
        }
        return edited.insert(json_edit.put(edited.text, [self._status_line], value), [])

    def _with_entry(self, edited: Edited) -> Edited:
        if self.entry is None or self.entry.find(edited.text) is not None:
            return edited
        try:
            added = self.entry.insertions(edited.text)
        except ValueError:
            if not self.events:
                raise
            return edited  # the hooks are useful without the server
        return edited.insert(added, self.entry.made_keys(edited.text))

    def _without_event(self, text: str, event: str) -> str:
        elements = _value_at(json_edit.parse(text).plain, ["hooks", event])
        if not isinstance(elements, list):
            return text
        for number in range(len(cast("list[Any]", elements)) - 1, -1, -1):
            hooks = _value_at(elements, [number, "hooks"])
            if not isinstance(hooks, list) or not hooks:
                continue
            ours = [self._is_ours(hook) for hook in cast("list[Any]", hooks)]
            if all(ours):
                text = json_edit.remove(text, ["hooks", event, number])
                continue
            for place in range(len(ours) - 1, -1, -1):
                if ours[place]:
                    text = json_edit.remove(text, ["hooks", event, number, "hooks", place])
        return text

    def _is_ours(self, hook: Any) -> bool:
        command = _value_at(hook, ["command"])
        return any(
            command == self._command(event, recall=recall)
            for event in self.events
            for recall in (False, True)
        )

    def _command(self, event: str, *, recall: bool) -> str:
        option = f" {RECALL}" if recall and event == self.tool.recall_event else ""
        return f"cortext hook {self.tool.name} {event}{option}"


def hooks_file(tool: str) -> SettingsFile | None:
    """Return the settings file that gets our hooks, or None if the tool has no hooks."""
    descriptor = find_tool(tool)
    return descriptor.load("hooks")(descriptor) if descriptor.hooks else None


def server_file(tool: str) -> SettingsFile | None:
    """Return the settings file that gets our MCP server, or None if cortext cannot add it."""
    descriptor = find_tool(tool)
    return descriptor.load("mcp_settings")(descriptor) if descriptor.mcp_settings else None


def undone(text: str, steps: Steps) -> str:
    """Return the text of a settings file without our insertions.

    `steps` describes the insertions, as `Edited.steps` does. `text` must be the text that resulted
    from these insertions, without later changes.
    """
    for step in reversed(steps):
        for start, end in reversed(step):
            text = text[:start] + text[end:]
    return text


def _hooks_of(plain: Any, event: str) -> list[Any]:
    elements = _value_at(plain, ["hooks", event])
    all_hooks: list[Any] = []
    for element in cast("list[Any]", elements) if isinstance(elements, list) else ():
        hooks = _value_at(element, ["hooks"])
        all_hooks += cast("list[Any]", hooks) if isinstance(hooks, list) else []
    return all_hooks


def _has_path(plain: Any, path: Sequence[str]) -> bool:
    value = plain
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = cast("dict[str, Any]", value)[key]
    return True


def _value_at(plain: Any, path: Sequence[str | int]) -> Any:
    value = plain
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = cast("dict[str, Any]", value).get(key)
        elif isinstance(value, list) and isinstance(key, int):
            value = cast("list[Any]", value)[key]
        else:
            return None
    return value
