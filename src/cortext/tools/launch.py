"""How each tool is started: with which words, where, and with what in its environment.

No text of a conversation is among the words: at most a slash command and an id. No word asks a
tool to skip a question of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.tools.registry import find_tool, tool_names
from cortext.tools.slash_commands import WITH_COMMANDS, user_folder, workspace_folder

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "opencode": "opencode-ai",
    "gemini": "@google/gemini-cli",
    "codex": "@openai/codex",
}
RESUME = "workspace.resume"
_CONFIG = "OPENCODE_CONFIG_CONTENT"
PURE = {"OPENCODE_PURE": "1"}
"""OpenCode without plug-ins, where nobody sees what it starts."""
IN_A_COPY = ("gemini", "opencode")
"""Tools that are asked in an empty folder. In a project they run the programs that its settings
name, hooks, servers, plug-ins, the discovery of tools, and have no words against all of them; and
OpenCode forks into the folder of the session, wherever it is started."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_NO_CODEX_TOOLS = ("shell_tool", "unified_exec", "multi_agent", "view_image", "goals", "apps")
_DENY = b'[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'


class Plan(NamedTuple):
    """A program to start: its words, its folder, what is added to its environment, and what it
    gets to read in place of a terminal."""

    tool: str
    words: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    given: str | None = None


class ToolMissingError(CortextError):
    """A tool is wanted that is not installed."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        there = installed()
        others = f"; installed are {', '.join(there)}: take one with --tool" if there else ""
        super().__init__(
            f"{tool} is not installed",
            hint=f"`npm install -g {PACKAGES[tool]}` installs it{others}",
        )


def installed() -> list[str]:
    """The tools whose programs are on the PATH."""
    return [tool for tool in tool_names() if shutil.which(tool)]


def require(tool: str) -> None:
    """ToolMissingError, or nothing."""
    find_tool(tool)
    if not shutil.which(tool):
        raise ToolMissingError(tool)


def resume_plan(
    tool: str,
    id: str,
    *,
    cwd: str,
    command: str = "",
    instructions: str = "",
    extra: Sequence[str] = (),
) -> Plan:
    """Go on with a session of the tool's own. `command` is a slash command to begin with, where
    the tool takes one; `instructions` is a file that it reads, where it can."""
    _check(id)
    first = [command] if command else []
    words = {
        "claude": ["claude", "--resume", id, *first],
        "opencode": ["opencode", "--session", id],
        "gemini": ["gemini", "--resume", id, *(["--prompt-interactive", *first] if first else [])],
        "codex": ["codex", "resume", id],
    }[tool]
    environment = _instructing(instructions) if tool == "opencode" and instructions else {}
    return Plan(tool, (*words, *extra), cwd, environment)


def fork_plan(
    tool: str, id: str, *, new: str, cwd: str, command: str = "", extra: Sequence[str] = ()
) -> Plan | None:
    """Go on in a copy that gets the id `new`; None where the tool does not let us choose it."""
    if tool != "claude":
        return None
    _check(id)
    first = [command] if command else []
    words = ("claude", "--resume", id, "--fork-session", "--session-id", new, *first, *extra)
    return Plan(tool, words, cwd)


def start_plan(
    tool: str, *, cwd: str, command: str = "", instructions: str = "", extra: Sequence[str] = ()
) -> Plan | None:
    """Begin a new session with a slash command, or with a file to read; None if the tool has no
    way to be told."""
    if tool == "opencode" and instructions:
        return Plan(tool, ("opencode", *extra), cwd, _instructing(instructions))
    if not command:
        return None
    words = {
        "claude": ("claude", command),
        "gemini": ("gemini", "--prompt-interactive", command),
    }.get(tool)
    return Plan(tool, (*words, *extra), cwd) if words else None


def ask_plan(
    tool: str, id: str, question: str, cwd: str, *, denying: str, extra: Sequence[str] = ()
) -> Plan:
    """One turn without a terminal and without the tool's tools: the question on its stdin, the
    answer on its stdout. It is had in a fork of the session that is not kept; for the tools of
    `IN_A_COPY` the session is to be a copy, and the folder an empty one of ours. `denying` is a
    file with the policy of `deny_everything`."""
    _check(id)
    environment: dict[str, str] = {}
    if tool == "claude":
        words = ["claude", "-p", "--resume", id, "--fork-session", "--no-session-persistence"]
        # Without a terminal it asks nobody whether a project's own hooks may run.
        words += ["--tools", "", "--strict-mcp-config", "--setting-sources", "user", *extra]
    elif tool == "opencode":
        # An agent of our own: what a configuration allows one that it names would win.
        mute = f"ask-{os.urandom(8).hex()}"
        words = ["opencode", "run", "--session", id, "--agent", mute, *extra]
        environment = {**_muted(mute), **PURE}
    elif tool == "codex":
        off = [f"features.{name}=false" for name in _NO_CODEX_TOOLS]
        off += ['web_search="disabled"', "mcp_servers={}", _untrusted(cwd)]
        settings = [word for each in off for word in ("-c", each)]
        words = ["codex", "exec", "--sandbox", "read-only", "--ephemeral", *settings, *extra]
        words += ["fork", id, "-"]
    else:
        words = ["gemini", "--resume", id, "--policy", denying, *extra]
        # It answers in no folder that nobody trusts; this one is ours, and nothing is in it.
        environment = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return Plan(tool, tuple(words), cwd, environment, question)


def _untrusted(cwd: str) -> str:
    """Codex reads no settings of a folder that it is told not to trust, for this run; what a
    project adds to the servers is started else."""
    folders: list[str] = []
    for folder in (os.path.abspath(cwd), os.path.realpath(cwd)):
        while folder not in folders:
            folders.append(folder)
            folder = os.path.dirname(folder)
    each = (f'{json_codec.encode(name).decode()}={{trust_level="untrusted"}}' for name in folders)
    return f"projects={{{','.join(each)}}}"


def forget_plan(tool: str, id: str, cwd: str) -> Plan | None:
    """Let a tool delete a session that we made in its store; None where that is a file of ours."""
    _check(id)
    words = ("opencode", "session", "delete", id)
    return Plan(tool, words, cwd, PURE) if tool == "opencode" else None


def deny_everything() -> bytes:
    """A policy of Gemini CLI in which no tool may run."""
    return _DENY


def _check(id: str) -> None:
    """A transcript may call itself anything; none of it may become an option of a tool."""
    if not _ID.fullmatch(id):
        raise CortextError(f"{id!r} is no id that a tool can be given")


def has_command(tool: str, cwd: str) -> bool:
    """Whether a tool, started in a folder, knows `/workspace.resume` as we wrote it for the person;
    a project's own of that name would be run in its place, and is not ours to start."""
    if tool not in WITH_COMMANDS:
        return False
    name = f"{RESUME}.{'toml' if tool == 'gemini' else 'md'}"
    folders, folder = list[str](), os.path.abspath(cwd)
    while True:
        folders.append(os.path.join(folder, workspace_folder(tool)))
        parent = os.path.dirname(folder)
        # A tool looks in its project, whose root has the repository.
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    ours = user_folder(tool)
    theirs = [each for each in folders if os.path.abspath(each) != os.path.abspath(ours)]
    if any(os.path.lexists(os.path.join(each, name)) for each in theirs):
        return False
    return os.path.isfile(os.path.join(ours, name))


def _instructing(path: str) -> dict[str, str]:
    """OpenCode reads one more file of instructions."""
    return _configured({"instructions": [*_list(_own_config().get("instructions")), path]})


def _muted(agent: str) -> dict[str, str]:
    """OpenCode with an agent that may do nothing but answer."""
    nothing: dict[str, Any] = {"tools": {"*": False}, "permission": {"*": "deny"}}
    named = {agent: {"mode": "primary", "description": "Answers a question.", **nothing}}
    own = _own_config().get("agent")
    others = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    return _configured({**nothing, "agent": {**others, **named}})


def _configured(more: dict[str, Any]) -> dict[str, str]:
    """OpenCode with some more settings, on top of what the person gave it in the same way."""
    return {_CONFIG: json_codec.encode({**_own_config(), **more}).decode("utf-8")}


def _own_config() -> dict[str, Any]:
    given = os.environ.get(_CONFIG, "")
    try:
        value: Any = json_codec.decode(given.encode("utf-8", "surrogateescape")) if given else None
    except ValueError:
        raise CortextError(f"{_CONFIG} in the environment is not JSON") from None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
