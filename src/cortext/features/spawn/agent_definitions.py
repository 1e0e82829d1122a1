"""The agents of `aur spawn`: markdown files, each with a name and a system prompt.

Agents are searched in the workspace, in the project's `.claude/agents/` and in the user's own
folder, in this order. If two agents have the same name, the first is used. Anyone may have written
the files of a workspace, so an agent file cannot name a program to run.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from cortext import paths
from cortext.errors import CortextError, reason_of
from cortext.tools.registry import is_tool, tool_names, tools

DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"([A-Za-z_-]+):(?:[ \t]+(.*))?")
_FENCE = "---"
_MAX_BYTES = 1_000_000
_log = logging.getLogger("cortext.features")


class Agent(NamedTuple):
    """An agent: its name, its system prompt and the file that defines it.

    `tool` is the tool that the file names, or "". `model` is the name of a model, and `model_of` is
    the tool to which the model belongs. Both are "" if the file names no usable model.
    """

    name: str
    prompt: str
    path: str
    description: str = ""
    tool: str = ""
    model: str = ""
    model_of: str = ""


class UnknownAgentError(CortextError, LookupError):
    """No agent has the name that the user gave. `known` has the names of all agents."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.name = name
        self.known = known
        from difflib import get_close_matches

        suggestion = "".join(
            f"did you mean {each}? " for each in get_close_matches(name, known, n=1)
        )
        where = "markdown files in .workspace/agents/, .claude/agents/ and ~/.aurora/agents/"
        super().__init__(
            f"unknown agent {name}",
            hint=f"{suggestion}available agents: {', '.join(known)}; agents are {where}",
        )


def find_agents(cwd: str) -> dict[str, Agent]:
    """Return the agents that can be used in the folder `cwd`, by name.

    An agent file that cannot be read is skipped. A warning about it is logged once.
    """
    found: dict[str, Agent] = {}
    for folder in _folders(cwd):
        for path in _files(folder):
            agent = _read(path)
            if agent:
                found.setdefault(agent.name, agent)
    found.setdefault(DEFAULT, Agent(DEFAULT, "", ""))
    return dict(sorted(found.items()))


_warned: set[str] = set()


def _warn(sentence: str) -> None:
    if sentence not in _warned:
        _warned.add(sentence)
        _log.warning("%s", sentence)


def get_agent(name: str, cwd: str) -> Agent:
    """Return the agent `name` that can be used in the folder `cwd`.

    Raises UnknownAgentError if there is no such agent.
    """
    agents = find_agents(cwd)
    if name not in agents:
        raise UnknownAgentError(name, list(agents))
    return agents[name]


def agent_of(name: str, cwd: str) -> tuple[Agent, str]:
    """Return the agent of a stored session by its name, and a warning for the user.

    The warning is "" if the agent exists. If it does not exist any more, return an agent with an
    empty prompt.
    """
    try:
        return get_agent(name or DEFAULT, cwd), ""
    except UnknownAgentError:
        warning = f"the agent {name} does not exist here; continuing without its system prompt"
        return Agent(name, "", ""), warning


def _folders(cwd: str) -> Iterator[str]:
    yield os.path.join(paths.workspace_root(cwd), ".workspace", "agents")
    folder = os.path.abspath(cwd)
    while True:
        agents_folder = os.path.join(folder, ".claude", "agents")
        if os.path.isdir(agents_folder):
            yield agents_folder
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    yield os.path.join(paths.aurora_home(), "agents")


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _warn(f"skipping agents in {folder}: {reason_of(error)}")
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".md")]


def _read(path: str) -> Agent | None:
    """Return the agent that a file defines.

    Return None and log a warning if the file is not valid.
    """
    try:
        # O_NONBLOCK: do not hang if the path is a pipe instead of a file.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ValueError("not a file")
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ValueError(f"larger than {_MAX_BYTES:,} bytes")
        return _parse(data.decode("utf-8-sig"), path)
    except OSError as error:
        reason = reason_of(error)
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except ValueError as error:
        reason = str(error)
    _warn(f"skipping the agent in {path}: {reason}")
    return None


def _parse(text: str, path: str) -> Agent:
    """Return the agent that the text of an agent file defines.

    `path` is the path of the file. Raises ValueError if the text is not valid.
    """
    head, prompt = _front_matter(text)
    name = head.get("name") or os.path.basename(path).removesuffix(".md")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name; use a to z, digits, '.', '_' and '-'")
    tool, model = head.get("tool", ""), head.get("model", "")
    if tool and not is_tool(tool):
        _warn(f"{path}: the tool must be one of {', '.join(tool_names())}, not {tool!r}")
        tool = ""
    # In a tool's own agents folder, `model` is a model of that tool, or "inherit".
    folder = os.path.basename(os.path.dirname(os.path.dirname(path)))
    model_of = tool or next((each.name for each in tools() if each.agents_folder == folder), "")
    if model == "inherit" or not model_of:
        model = ""
    description = head.get("description", "")
    return Agent(name, prompt.strip(), path, description, tool, model, model_of if model else "")


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the `key: value` lines at the start of a markdown text, and the text after them.

    The `key: value` lines are between two `---` lines. Only the first line of a long value is used.
    Raises ValueError if the second `---` is missing.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            found = (_KEY.fullmatch(each.rstrip()) for each in lines[1:number])
            head = {match[1].lower(): _unquote(match[2] or "") for match in found if match}
            return head, "\n".join(lines[number + 1 :])
    raise ValueError("its front matter has no closing `---`")


def _unquote(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
