"""The names of the MCP servers in a tool's settings files.

Servers from other places, such as plug-ins or a Claude account, are not known.
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
# Match strings first, so that `//` in a string is not a comment. A string or comment without an end
# also matches. Otherwise the search would take quadratic time.
_STRING = rb'("(?:[^"\\]|\\.)*+"?)'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST, _LARGEST_TOML = 1 << 20, 1 << 18
"""The maximum bytes of a settings file. A project's file may come from an untrusted author."""
_MOST_SERVERS, _LONGEST_NAME = 1000, 200
_OTHER = re.compile(r"[^0-9A-Za-z]+")
# `mcp__server__tool`, `mcp_server_tool`, or `mcp__server` for a server whose tools were not called.
_MCP = re.compile(r"mcp__.|mcp_[^_].*_.")
_SERVER = re.compile(r"mcp__((?:(?!__).)+)")
# The prefixes of servers from plug-ins, accounts, editors and browsers, not from settings files.
_FROM_ELSEWHERE = (
    "mcp__plugin_", "mcp__claude_ai_", "mcp__claude-in-chrome__", "mcp__ide__", "mcp__codex_apps__",
)  # fmt: skip


def mcp_servers(tool: str, cwd: str) -> list[str]:
    """Return the names of the MCP servers that a tool starts in a folder, sorted."""
    entries = {name: entry for table in _tables(tool, cwd) for name, entry in table.items()}
    names = (name for name, entry in entries.items() if not _is_disabled(entry))
    return sorted(name for name in names if len(name) <= _LONGEST_NAME)[:_MOST_SERVERS]


def is_of(server: str, name: str) -> bool:
    """Return whether the MCP tool that was called as `name` belongs to the MCP server `server`.

    Characters other than letters and digits count as `_`, because AI tools may replace them by `_`
    in a call.
    """
    plain = _OTHER.sub("_", name).removeprefix("mcp").lstrip("_")
    return plain.startswith(f"{_OTHER.sub('_', server).lstrip('_')}_")


def record_tools(tool: str, called: Iterable[str], servers: Sequence[str]) -> list[str]:
    """Return the names of called tools and MCP servers to record for a conversation.

    The result starts with the called tools, sorted by name. It ends with `mcp__SERVER` for each
    server whose tools were not called. Some AI tools call an MCP tool `SERVER_TOOL`. The result has
    the name `mcp__SERVER__TOOL` instead.

    Args:
        tool: The name of the AI tool.
        called: The names of the tools that the model called.
        servers: The names of the MCP servers.
    """
    names = dict.fromkeys(called)
    descriptor = get_tool(tool)
    if descriptor and not descriptor.marks_mcp_tools:
        names = dict.fromkeys(_with_server(name, servers) for name in names)
    return merge_tools(sorted(names), [f"mcp__{server}" for server in servers])


def merge_tools(known: Sequence[str], new: Iterable[str]) -> list[str]:
    """Return the tool names in `known` and `new` as one list without duplicates.

    A name of the form `mcp__SERVER` is left out if the list has a tool of that server.
    """
    names = list(dict.fromkeys((*known, *new)))
    called = [name for name in names if _MCP.match(name) and not parse_server_name(name)]
    return [
        name
        for name in names
        if not (server := parse_server_name(name))
        or not any(is_of(server, each) for each in called)
    ]


def parse_server_name(name: str) -> str:
    """Return the server in a name of the form `mcp__SERVER`, or "" for other names."""
    match = _SERVER.fullmatch(name)
    return match[1] if match else ""


def without_server(names: Iterable[str], servers: Sequence[str]) -> list[str]:
    """Return the names of MCP tools and servers in `names` whose server is not in `servers`.

    Names that belong to servers of plug-ins, accounts and editors are left out. No settings file
    lists these servers, so cortext cannot know whether they are present.
    """
    return [
        name
        for name in names
        if _MCP.match(name)
        and not name.startswith(_FROM_ELSEWHERE)
        and not any(is_of(server, f"{name}_") for server in servers)
    ]


def without_tool(names: Iterable[str], tools: Sequence[str]) -> list[str]:
    """Return the tool names in `names` that match none of the names in `tools`.

    Different spellings of one MCP tool match each other. A name of the form `mcp__SERVER` matches
    every tool of that server.
    """
    present = {_server_and_tool(tool) for tool in tools}
    return [
        name
        for name in names
        if _server_and_tool(name) not in present
        and not ((server := parse_server_name(name)) and any(is_of(server, tool) for tool in tools))
    ]


def _server_and_tool(name: str) -> str:
    """Return the name of an MCP tool in the form `server_tool`.

    The forms `mcp__server__tool` and `mcp_server_tool` become `server_tool`.
    """
    return "_".join(part for part in name.split("_") if part).removeprefix("mcp_")


def _with_server(name: str, servers: Sequence[str]) -> str:
    matching = [server for server in servers if is_of(server, name)]
    if not matching:
        return name
    server = max(matching, key=len)
    return f"mcp__{server}__{name[len(server) + 1 :]}"


def _tables(tool: str, cwd: str) -> Iterable[dict[str, Any]]:
    """Return the tables of MCP servers that a tool starts in a folder."""
    descriptor = get_tool(tool)
    return (
        descriptor.load("mcp_servers")(descriptor, cwd)
        if descriptor and descriptor.mcp_servers
        else ()
    )


def project_folders(cwd: str) -> list[str]:
    """Return the folders from the root of the repository down to `cwd`.

    Tools read project settings in this order. Outside a repository, the result has only `cwd`. If
    `cwd` is "", the result is empty.
    """
    if not cwd:
        return []
    folders = [folder := os.path.abspath(cwd)]
    while not os.path.exists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return folders[:1]
        folders.append(folder)
    return folders[::-1]


def _is_disabled(entry: Any) -> bool:
    return isinstance(entry, dict) and cast("dict[str, Any]", entry).get("enabled") is False


def table_at(value: Any, *keys: str) -> dict[str, Any]:
    """Return the table at the path `keys` in decoded settings, or {} if there is no table."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_settings(path: str, most: int = _LARGEST) -> Any:
    """Return the decoded JSON or TOML of a settings file.

    The result is None if the file is missing, unreadable, or larger than `most` bytes.
    """
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
        # An unreadable file is only logged as information: the tool itself reports it.
        is_large = getattr(error, "errno", None) == errno.EFBIG
        _log.log(
            logging.WARNING if is_large else logging.INFO,
            "skipped %s: %s",
            path,
            why(error),
        )
        return None
