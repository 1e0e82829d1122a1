"""The AI tools that cortext knows: the built-in tools, then the tools of other packages.

Another Python package can add a tool. It declares an entry point of the group `cortext.tools`,
which leads to a `Tool` object.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING

from cortext.errors import CortextError
from cortext.tools.claude.tool import TOOL as CLAUDE
from cortext.tools.codex.tool import TOOL as CODEX
from cortext.tools.descriptor import Tool
from cortext.tools.gemini.tool import TOOL as GEMINI
from cortext.tools.opencode.tool import TOOL as OPENCODE

if TYPE_CHECKING:  # needed only for types; `cortext list` is faster without it
    from cortext.tools.reader_protocol import Bridge

GROUP = "cortext.tools"
BUILT_IN = (CLAUDE, OPENCODE, GEMINI, CODEX)
_BY_NAME = {tool.name: tool for tool in BUILT_IN}
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
# These words cannot be names of tools, because lists and settings use them for other things.
_RESERVED = frozenset(("aur", "spawn", "document", "ask", "echo"))


def tools() -> tuple[Tool, ...]:
    """Return all tools: the built-in tools, then the tools of other packages."""
    return (*BUILT_IN, *_other_tools())


def tool_names() -> list[str]:
    """Return the names of all tools."""
    return [tool.name for tool in tools()]


def get_tool(name: str) -> Tool | None:
    """Return the `Tool` value of the tool with this name, or None if the name is unknown."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    return next((tool for tool in _other_tools() if tool.name == name), None)


def find_tool(name: str) -> Tool:
    """Return the `Tool` value of the tool with this name.

    Raises CortextError if the name is unknown.
    """
    tool = get_tool(name)
    if tool is None:
        raise CortextError(f"there is no tool {name}", hint=f"tools: {', '.join(tool_names())}")
    return tool


def is_tool(name: object) -> bool:
    """Return whether a value is the name of a known tool."""
    return isinstance(name, str) and get_tool(name) is not None


def display_name(name: str) -> str:
    """Return the name of a tool as users read it, such as "Claude Code".

    If no tool has this name, return `name` itself.
    """
    tool = get_tool(name)
    return tool.display_name if tool else name


def open_bridge(tool: str, home: str | None = None) -> Bridge:
    """Return a reader of the sessions in a tool's folder.

    `home` is that folder, for example the copy in the archive, or None for the tool's own folder.
    """
    return find_tool(tool).load("reader")(home)


@cache
def _other_tools() -> tuple[Tool, ...]:
    """Return the tools of other packages. Entry points that fail are logged and left out."""
    if not _is_group_installed():
        return ()
    from importlib.metadata import entry_points

    others: dict[str, Tool] = {}
    for entry in entry_points(group=GROUP):
        try:
            tool = _check_tool(entry.load(), {*_BY_NAME, *others})
        except Exception as error:  # noqa: BLE001  code of other packages may raise anything
            import logging

            reason = f"{type(error).__name__}: {error}"
            logging.getLogger("cortext.tools").warning(
                "ignored the tool %s of the entry point %s: %s",
                entry.name,
                entry.value,
                reason,
            )
        else:
            others[tool.name] = tool
    return tuple(others.values())


def _check_tool(value: object, taken: set[str]) -> Tool:
    if not isinstance(value, Tool):
        raise TypeError(f"the entry point is a {type(value).__name__}, not a Tool")
    if not _NAME.fullmatch(value.name) or value.name in _RESERVED:
        raise ValueError(f"{value.name!r} cannot be the name of a tool")
    if value.name in taken:
        raise ValueError(f"a tool {value.name} already exists")
    return value


def _is_group_installed() -> bool:
    """Return whether an installed package has an entry point of our group.

    The import of `importlib.metadata` is slow, so search the `entry_points.txt` files first.
    """
    wanted = f"[{GROUP}]".encode()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                        if wanted in file.read():
                            return True
                except OSError:
                    continue
    return False
