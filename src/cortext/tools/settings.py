"""Our hooks and our MCP server in the settings of a tool: put in and taken out, no byte else.

Nothing else is ever written there. Trust, permissions, policies and approvals are a person's
consent, and theirs to give. Two tools read their servers from a file of its own: that is `SERVERS`,
with a name like a tool's, and has no hooks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from cortext.formats import json_edit, toml_edit
from cortext.formats.json_edit import Insertion
from cortext.tools.mcp_entry import (
    TABLES,
    entry_path,
    has_entry,
    made_by,
    put_entry,
    without_entry,
)
from cortext.tools.scan import own_home

FILES = {"claude": "settings.json", "gemini": "settings.json", "codex": "config.toml"}
"""The tools whose settings we add to; OpenCode has no hooks, its database says all."""
SERVERS = {"claude": "claude servers", "opencode": "opencode servers"}
_WITH_ENTRY = {"gemini": "gemini", "codex": "codex", **{v: k for k, v in SERVERS.items()}}
"""Which settings have the entry of the server, and whose."""
ENTRY = "the MCP server"
"""Stands among events for the entry."""
MADE = ("hooks", *TABLES)
"""Keys that we may have made."""
EVENTS: dict[str, tuple[str, ...]] = {
    "claude": ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact"),
    "gemini": ("SessionStart", "AfterAgent"),
}
# A hook that hangs must not hold the tool up for long: one counts seconds, one milliseconds.
_TIMEOUT = {"claude": 10, "gemini": 10_000}
NOTIFY = ("cortext", "hook", "codex", "notify")

Steps = list[list[tuple[int, int]]]


class Edited(NamedTuple):
    """Settings with our hooks. `steps` are where we put something in, one insertion after the
    other; `made` the keys that were not there before."""

    text: str
    steps: Steps
    made: list[list[str]]


def settings_path(tool: str) -> str:
    if tool not in FILES:
        return entry_path(_WITH_ENTRY[tool])
    return os.path.join(own_home(tool), FILES[tool])


def with_hooks(tool: str, text: str, *, but: Sequence[str] = ()) -> Edited:
    """The settings with our hooks and our server, `but` for some events; ValueError says why they
    cannot have the hooks. Where the server cannot be named, it is left out."""
    edited = Edited(text, [], [])
    if tool == "codex":
        if toml_edit.value_of(text, "notify") != list(NOTIFY):
            edited = _after(edited, toml_edit.put_first(text, "notify", NOTIFY), [])
    else:
        if not text.strip("\ufeff \t\r\n"):
            edited = _after(edited, [Insertion(len(text), "{}\n")], [])
        for event in EVENTS.get(tool, ()):
            edited = edited if event in but else _with_event(tool, edited, event)
    return edited if ENTRY in but else _with_entry(tool, edited)


def _with_event(tool: str, edited: Edited, event: str) -> Edited:
    plain = json_edit.parse(edited.text).plain
    if any(_is_ours(tool, hook) for hook in _hooks_of(plain, event)):
        return edited
    hook = {"type": "command", "command": f"cortext hook {tool} {event}"}
    element = {"hooks": [{**hook, "timeout": _TIMEOUT[tool]}]}
    path = ["hooks", event]
    made = [path[:depth] for depth in (1, 2) if not _has(plain, path[:depth])]
    return _after(edited, json_edit.append(edited.text, path, element), made)


def _with_entry(tool: str, edited: Edited) -> Edited:
    whose = _WITH_ENTRY.get(tool)
    if not whose or has_entry(whose, edited.text):
        return edited
    try:
        added = put_entry(whose, edited.text)
    except ValueError:
        if tool not in FILES:
            raise
        return edited  # its hooks are worth having all the same
    return _after(edited, added, made_by(whose, edited.text))


def undone(text: str, steps: Steps) -> str:
    """The text as it was before these steps."""
    for step in reversed(steps):
        for start, end in reversed(step):
            text = text[:start] + text[end:]
    return text


def without_hooks(tool: str, text: str, made: Sequence[Sequence[str]]) -> str:
    """The settings without our hooks, also where a person has changed them since; what we made
    goes too, if nothing else is in it. ValueError if they cannot be read."""
    whose = _WITH_ENTRY.get(tool)
    if tool == "codex":
        return without_entry(tool, toml_edit.take_out(text, "notify", NOTIFY))
    if not text.strip("\ufeff \t\r\n"):
        return text
    for event in EVENTS.get(tool, ()):
        text = _without_event(tool, text, event)
    text = without_entry(whose, text) if whose else text
    for path in sorted(made, key=len, reverse=True):
        if _has(plain := json_edit.parse(text).plain, path) and not _at(plain, path):
            text = json_edit.remove(text, path)
    return text


def has_hooks(tool: str, text: str) -> bool:
    """Whether all our hooks are there."""
    try:
        return not missing_hooks(tool, text)
    except ValueError:
        return False


def missing_hooks(tool: str, text: str) -> list[str]:
    """The events that we want to be told of and are not; ValueError if they cannot be read."""
    if tool == "codex":
        there = toml_edit.value_of(text, "notify") == list(NOTIFY)
        return [] if there else [NOTIFY[-1]]
    plain: Any = json_edit.parse(text).plain if text.strip("\ufeff \t\r\n") else {}
    return [
        event
        for event in EVENTS[tool]
        if not any(_is_ours(tool, hook) for hook in _hooks_of(plain, event))
    ]


def missing(tool: str, text: str) -> list[str]:
    """As `missing_hooks`, and whether the server is."""
    whose = _WITH_ENTRY.get(tool)
    hooks = missing_hooks(tool, text) if tool in FILES else []
    return [*hooks, ENTRY] if whose and not has_entry(whose, text) else hooks


def is_taken(text: str) -> bool:
    """Whether the one program that Codex tells of a turn is another than ours."""
    try:
        return toml_edit.value_of(text, "notify") not in (None, list(NOTIFY))
    except ValueError:
        return False


def _after(edited: Edited, insertions: list[Insertion], made: list[list[str]]) -> Edited:
    step: list[tuple[int, int]] = []
    shift = 0
    for at, added in sorted(insertions, key=lambda each: each.at):
        step.append((at + shift, at + shift + len(added)))
        shift += len(added)
    text = json_edit.insert(edited.text, insertions)
    return Edited(text, [*edited.steps, step], [*edited.made, *made])


def _without_event(tool: str, text: str, event: str) -> str:
    elements = _at(json_edit.parse(text).plain, ["hooks", event])
    if not isinstance(elements, list):
        return text
    for number in range(len(cast("list[Any]", elements)) - 1, -1, -1):
        hooks = _at(elements, [number, "hooks"])
        if not isinstance(hooks, list) or not hooks:
            continue
        ours = [_is_ours(tool, hook) for hook in cast("list[Any]", hooks)]
        if all(ours):
            text = json_edit.remove(text, ["hooks", event, number])
            continue
        for place in range(len(ours) - 1, -1, -1):
            if ours[place]:
                text = json_edit.remove(text, ["hooks", event, number, "hooks", place])
    return text


def _hooks_of(plain: Any, event: str) -> list[Any]:
    elements = _at(plain, ["hooks", event])
    found: list[Any] = []
    for element in cast("list[Any]", elements) if isinstance(elements, list) else ():
        hooks = _at(element, ["hooks"])
        found += cast("list[Any]", hooks) if isinstance(hooks, list) else []
    return found


def _is_ours(tool: str, hook: Any) -> bool:
    command = _at(hook, ["command"])
    return command in [f"cortext hook {tool} {event}" for event in EVENTS[tool]]


def _has(plain: Any, path: Sequence[str]) -> bool:
    value = plain
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = cast("dict[str, Any]", value)[key]
    return True


def _at(plain: Any, path: Sequence[str | int]) -> Any:
    value = plain
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = cast("dict[str, Any]", value).get(key)
        elif isinstance(value, list) and isinstance(key, int):
            value = cast("list[Any]", value)[key]
        else:
            return None
    return value
