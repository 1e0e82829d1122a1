"""The command lines that start OpenCode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.tools.launch_plans import Launcher, LaunchPlan

PURE = {"OPENCODE_PURE": "1"}
"""The environment variable that starts OpenCode without plug-ins.

It is set for runs that the user does not see.
"""
_CONFIG = "OPENCODE_CONFIG_CONTENT"


class OpenCodeLauncher(Launcher):
    """The command lines that start `opencode`, resume its sessions, and ask about its sessions."""

    asks_in_copy = True
    takes_instructions = True

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        environment = _instruction_variables(instructions) if instructions else {}
        return LaunchPlan(self.tool.name, ("opencode", "--session", id), cwd, environment)

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        if not instructions:
            return None
        return LaunchPlan(self.tool.name, ("opencode",), cwd, _instruction_variables(instructions))

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        # Use a new name, because the user's permissions for a known agent would have priority.
        agent = f"ask-{os.urandom(8).hex()}"
        words = ("opencode", "run", "--session", id, "--agent", agent, *extra)
        return LaunchPlan(self.tool.name, words, cwd, {**_agent_variables(agent), **PURE})

    def delete(self, id: str, cwd: str) -> LaunchPlan | None:
        return LaunchPlan(self.tool.name, ("opencode", "session", "delete", id), cwd, PURE)


def _instruction_variables(path: str) -> dict[str, str]:
    """Return environment variables that make OpenCode read the file of instructions at `path`."""
    return _config_variable({"instructions": [*_list(_own_config().get("instructions")), path]})


def _agent_variables(agent: str) -> dict[str, str]:
    """Return environment variables that define an agent without tools and without permissions.

    `agent` is the name of the new agent.
    """
    no_rights: dict[str, Any] = {"tools": {"*": False}, "permission": {"*": "deny"}}
    new_agent = {agent: {"mode": "primary", "description": "Answers a question.", **no_rights}}
    own = _own_config().get("agent")
    others = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    return _config_variable({**no_rights, "agent": {**others, **new_agent}})


def _config_variable(more: dict[str, Any]) -> dict[str, str]:
    """Return the environment variable with OpenCode's settings: the user's settings plus `more`."""
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
