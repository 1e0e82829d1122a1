"""The MCP servers that a tool is configured with: their names, from the tool's own files.

What comes from elsewhere, as with a plug-in or an account of Claude Code, is not known.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from cortext import paths
from cortext.durability.read_files import read_small_file
from cortext.errors import why
from cortext.formats import toml_edit
from cortext.model import json_codec
from cortext.tools.jsonl import listed

_log = logging.getLogger("cortext.tools")
# Strings first, so that what looks like a comment in one is none. Neither a string nor a comment
# need be closed: otherwise each opening would be sought again from the next one to the end.
_STRING = rb'("(?:[^"\\]|\\.)*+"?)'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST, _LARGEST_TOML = 1 << 20, 1 << 18
"""Bytes of a settings file, which may come with a project that somebody else made."""
_LARGEST_OWN = 16 << 20
"""Bytes of the file that Claude Code keeps for a person, with much else in it."""
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
    """The names of the servers that a tool starts in a folder, sorted."""
    there = {name: entry for found in _found(tool, cwd) for name, entry in found.items()}
    names = (name for name, entry in there.items() if not _is_off(entry))
    return sorted(name for name in names if len(name) <= _LONGEST_NAME)[:_MOST_SERVERS]


def is_of(server: str, name: str) -> bool:
    """Whether a tool is one of an MCP server's, as any of the four names it: all but letters and
    digits may be written as `_`."""
    plain = _OTHER.sub("_", name).removeprefix("mcp").lstrip("_")
    return plain.startswith(f"{_OTHER.sub('_', server).lstrip('_')}_")


def record_tools(tool: str, called: Iterable[str], servers: Sequence[str]) -> list[str]:
    """Return the names under which a conversation records its tools: of those that were called,
    sorted, and `mcp__SERVER` for each server whose tools were not called.

    OpenCode names a tool of a server SERVER_TOOL; it is recorded as `mcp__SERVER__TOOL`.
    """
    names = dict.fromkeys(called)
    if tool == "opencode":
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


def _found(tool: str, cwd: str) -> Iterator[dict[str, Any]]:
    home = os.path.expanduser("~")
    if tool == "claude":
        folder = os.environ.get("CLAUDE_CONFIG_DIR") or home
        own = _read(os.path.join(folder, ".claude.json"), _LARGEST_OWN)
        yield _part(own, "mcpServers")
        yield _part(own, "projects", cwd, "mcpServers")
        for folder in _upwards(cwd):
            yield _part(_read(os.path.join(folder, ".mcp.json")), "mcpServers")
    elif tool == "gemini":
        person = os.environ.get("GEMINI_CLI_HOME") or home
        for extension in listed(os.path.join(person, ".gemini/extensions")):
            found = _read(os.path.join(extension.path, "gemini-extension.json"))
            yield _part(found, "mcpServers")
        for folder in filter(None, (person, cwd)):
            yield _part(_read(os.path.join(folder, ".gemini/settings.json")), "mcpServers")
    elif tool == "opencode":
        for folder in (os.path.join(paths.config_home(), "opencode"), *_upwards(cwd)):
            for name in ("opencode.json", "opencode.jsonc"):
                yield _part(_read(os.path.join(folder, name)), "mcp")
    elif tool == "codex":
        own = os.environ.get("CODEX_HOME") or os.path.join(home, ".codex")
        for folder in (own, *(os.path.join(each, ".codex") for each in _upwards(cwd))):
            yield _part(_read(os.path.join(folder, "config.toml")), "mcp_servers")


def _upwards(cwd: str) -> list[str]:
    """A folder and those above it in its repository, the outermost first, as tools read settings
    of a project; outside of any, it alone, and nothing where a tool does not say which it was."""
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


def _part(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read(path: str, most: int = _LARGEST) -> Any:
    """Return what a settings file says; None if it is missing, too large or cannot be read."""
    try:
        if path.endswith(".toml"):
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
