"""The MCP servers that a tool is configured with: their names, from the tool's own files.

What comes from elsewhere, as with a plug-in or an account of Claude Code, is not known.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from cortext.durability.read_files import read_small_file
from cortext.errors import why
from cortext.model import json_codec
from cortext.tools.registry import get_tool

_log = logging.getLogger("cortext.tools")
# Strings first, so that what looks like a comment in one is none. Neither a string nor a comment
# need be closed: otherwise each opening would be sought again from the next one to the end.
_STRING = rb'("(?:[^"\\]|\\.)*+"?)'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST, _LARGEST_TOML = 1 << 20, 1 << 18
"""Bytes of a settings file, which may come with a project that somebody else made."""
_MOST_SERVERS, _LONGEST_NAME = 1000, 200
_OTHER = re.compile(r"[^0-9A-Za-z]+")
# `mcp__server__tool`, `mcp_server_tool`, or `mcp__server` for a server whose tools were not called.
_MCP = re.compile(r"mcp__.|mcp_[^_].*_.")
_SERVER = re.compile(r"mcp__((?:(?!__).)+)")
# Of plug-ins, of an account, of an editor or browser beside the tool: in none of its files.
_FROM_ELSEWHERE = (
    "mcp__plugin_", "mcp__claude_ai_", "mcp__claude-in-chrome__", "mcp__ide__", "mcp__codex_apps__",
)  # fmt: skip


def mcp_servers(tool: str, cwd: str) -> list[str]:
    """Return the names of the servers that a tool starts in a folder, sorted."""
    there = {name: entry for found in _tables(tool, cwd) for name, entry in found.items()}
    names = (name for name, entry in there.items() if not _is_off(entry))
    return sorted(name for name in names if len(name) <= _LONGEST_NAME)[:_MOST_SERVERS]


def is_of(server: str, name: str) -> bool:
    """Whether a tool is one of an MCP server's, as any AI tool names it: all but letters and
    digits may be written as `_`."""
    plain = _OTHER.sub("_", name).removeprefix("mcp").lstrip("_")
    return plain.startswith(f"{_OTHER.sub('_', server).lstrip('_')}_")


def record_tools(tool: str, called: Iterable[str], servers: Sequence[str]) -> list[str]:
    """Return the names under which a conversation records its tools: of those that were called,
    sorted, and `mcp__SERVER` for each server whose tools were not called.

    Some tools name a server's tool SERVER_TOOL; it is recorded as `mcp__SERVER__TOOL`.
    """
    names = dict.fromkeys(called)
    found = get_tool(tool)
    if found and not found.marks_mcp_tools:
        names = dict.fromkeys(_with_server(name, servers) for name in names)
    return merge_tools(sorted(names), [f"mcp__{server}" for server in servers])


def merge_tools(known: Sequence[str], new: Iterable[str]) -> list[str]:
    """Return all names once; a server alone goes if a tool of it is named as well."""
    names = list(dict.fromkeys((*known, *new)))
    called = [name for name in names if _MCP.match(name) and not server_alone(name)]
    return [
        name
        for name in names
        if not (server := server_alone(name)) or not any(is_of(server, each) for each in called)
    ]


def server_alone(name: str) -> str:
    """Return the server that a name is of, if it names no tool of it; otherwise ""."""
    found = _SERVER.fullmatch(name)
    return found[1] if found else ""


def without_server(names: Iterable[str], servers: Sequence[str]) -> list[str]:
    """Return the MCP tools and servers among `names` that belong to none of the servers. Those that
    no file of a tool configures are left out: whether they exist now is unknown."""
    return [
        name
        for name in names
        if _MCP.match(name)
        and not name.startswith(_FROM_ELSEWHERE)
        and not any(is_of(server, f"{name}_") for server in servers)
    ]


def without_tool(names: Iterable[str], tools: Sequence[str]) -> list[str]:
    """Return the names that are none of the tools, compared as server and tool. A server alone is
    there if any tool of it is."""
    present = {_server_and_tool(tool) for tool in tools}
    return [
        name
        for name in names
        if _server_and_tool(name) not in present
        and not ((server := server_alone(name)) and any(is_of(server, tool) for tool in tools))
    ]


def _server_and_tool(name: str) -> str:
    """One name of an MCP tool: others write mcp__server__tool, mcp_server_tool or server_tool."""
    return "_".join(part for part in name.split("_") if part).removeprefix("mcp_")


def _with_server(name: str, servers: Sequence[str]) -> str:
    of = [server for server in servers if is_of(server, name)]
    if not of:
        return name
    server = max(of, key=len)
    return f"mcp__{server}__{name[len(server) + 1 :]}"


def _tables(tool: str, cwd: str) -> Iterable[dict[str, Any]]:
    """Return the tables of servers that hold in a folder."""
    found = get_tool(tool)
    return found.load("mcp_servers")(found, cwd) if found and found.mcp_servers else ()


def project_folders(cwd: str) -> list[str]:
    """Return a folder and those above it in its repository, the outermost first, as tools read the
    settings of a project. Outside a repository the folder stands alone; "" has none."""
    if not cwd:
        return []
    found = [folder := os.path.abspath(cwd)]
    while not os.path.exists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return found[:1]
        found.append(folder)
    return found[::-1]


def _is_off(entry: Any) -> bool:
    return isinstance(entry, dict) and cast("dict[str, Any]", entry).get("enabled") is False


def table_at(value: Any, *keys: str) -> dict[str, Any]:
    """Return the table below these keys; an empty one if there is none."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_settings(path: str, most: int = _LARGEST) -> Any:
    """Return what a settings file says; None if it is missing, too large or cannot be read."""
    try:
        if path.endswith(".toml"):
            from cortext.formats import toml_edit

            return toml_edit.read_toml(read_small_file(path, _LARGEST_TOML).decode("utf-8"))
        data = read_small_file(path, most)
        try:
            return json_codec.decode(data)
        except ValueError:
            for pattern in (_COMMENT, _COMMA):
                data = pattern.sub(lambda found: found[1] or b"", data)
            return json_codec.decode(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        # The tool itself tells of a file that it cannot read.
        is_large = getattr(error, "errno", None) == errno.EFBIG
        _log.log(
            logging.WARNING if is_large else logging.INFO,
            "%s is passed over: %s",
            path,
            why(error),
        )
        return None
