"""How tools are started: with which words, where, and with what in their environment.

No text of a conversation is among the words: at most a slash command and an id. No word asks a
tool to skip a question of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cortext.errors import CortextError
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool, get_tool, tools
from cortext.tools.slash_commands import slash_commands_of

RESUME = "workspace.resume"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class LaunchPlan(NamedTuple):
    """A program to start: its words, its folder, what is added to its environment, and what it
    gets to read in place of a terminal."""

    tool: str
    words: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    given: str | None = None


class Launcher:
    """How one tool is started. A subclass overrides what its tool can do."""

    asks_in_copy: bool = False
    """Whether a question is asked in an empty folder, on a copy of the session.

    Such a tool runs the programs that a project's settings name and has no options against all of
    them, or forks into the folder of the session wherever it is started.
    """
    takes_command: bool = False
    """Whether the tool can be started with a slash command."""
    takes_instructions: bool = False
    """Whether the tool can be started with a file of instructions."""
    deletes_resumed: bool = False
    """Whether the tool may delete a session that it resumes. The archive copies it first."""
    takes_empty_session: bool = False
    """Whether a session in which nothing was said is written, to tell the tool something."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        """Continue a session of the tool's own. `command` is a slash command to begin with, where
        the tool takes one; `instructions` is a file that the tool reads, where it can."""
        raise NotImplementedError

    def fork(self, id: str, *, new: str, cwd: str, command: str = "") -> LaunchPlan | None:
        """Continue in a copy that gets the id `new`; None if the tool chooses the id itself."""
        return None

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        """Begin a new session with a slash command or a file; None if the tool takes neither."""
        return None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        """Answer one question without a terminal and without the tool's own tools. The question is
        on stdin, the answer on stdout. The turn is not kept. `policy` is a file with `deny_policy`.
        """
        raise NotImplementedError

    def deny_policy(self) -> bytes:
        """Return a file for `ask` that forbids every tool; empty if `ask` needs none."""
        return b""

    def delete(self, id: str, cwd: str) -> LaunchPlan | None:
        """Let the tool delete a session that we wrote; None if that is a file that we remove."""
        return None

    def knows_briefing(self, path: str) -> bool:
        """Whether a session can be told of a conversation's command when it is resumed."""
        return True


class ToolMissingError(CortextError):
    """A tool is wanted that is not installed."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        there = installed()
        others = f"; installed are {', '.join(there)}: take one with --tool" if there else ""
        command = find_tool(tool).install_command
        super().__init__(
            f"{tool} is not installed",
            hint=f"`{command}` installs it{others}" if command else others.removeprefix("; "),
        )


def installed() -> list[str]:
    """Return the tools that cortext can start and whose programs are on the PATH."""
    return [tool.name for tool in tools() if tool.launcher and _is_installed(tool)]


def _is_installed(tool: Tool) -> bool:
    return bool(tool.executable and shutil.which(tool.executable))


def require(tool: str) -> None:
    """Raise ToolMissingError if a tool is not installed, and MissingCapabilityError if cortext
    cannot start it."""
    found = find_tool(tool)
    launcher_of(tool)
    if not _is_installed(found):
        raise ToolMissingError(tool)


def launcher_of(tool: str) -> Launcher:
    """Return how a tool is started. MissingCapabilityError if cortext cannot start it."""
    found = find_tool(tool)
    there = [each.name for each in tools() if each.launcher]
    return found.load("launcher", hint=f"`--tool` takes {', '.join(there)}")(found)


def install_hint(tool: str) -> str:
    """Return the command that installs a tool, in brackets; "" if it is not known."""
    found = get_tool(tool)
    return f" (`{found.install_command}`)" if found and found.install_command else ""


def resume_plan(
    tool: str,
    id: str,
    *,
    cwd: str,
    command: str = "",
    instructions: str = "",
    extra: Sequence[str] = (),
) -> LaunchPlan:
    """Plan to continue a session of the tool's own, as `Launcher.resume`."""
    _check(id)
    plan = launcher_of(tool).resume(id, cwd=cwd, command=command, instructions=instructions)
    return plan._replace(words=(*plan.words, *extra))


def fork_plan(
    tool: str, id: str, *, new: str, cwd: str, command: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Plan to continue in the tool's own copy of a session, as `Launcher.fork`."""
    _check(id)
    plan = launcher_of(tool).fork(id, new=new, cwd=cwd, command=command)
    return plan and plan._replace(words=(*plan.words, *extra))


def start_plan(
    tool: str, *, cwd: str, command: str = "", instructions: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Plan to begin a new session, as `Launcher.start`."""
    plan = launcher_of(tool).start(cwd=cwd, command=command, instructions=instructions)
    return plan and plan._replace(words=(*plan.words, *extra))


def ask_plan(
    tool: str, id: str, question: str, cwd: str, *, denying: str, extra: Sequence[str] = ()
) -> LaunchPlan:
    """Plan to ask a question, as `Launcher.ask`."""
    _check(id)
    plan = launcher_of(tool).ask(id, cwd=cwd, policy=denying, extra=extra)
    return plan._replace(given=question)


def forget_plan(tool: str, id: str, cwd: str) -> LaunchPlan | None:
    """Plan to let a tool delete a session that we wrote, as `Launcher.delete`."""
    _check(id)
    return launcher_of(tool).delete(id, cwd)


def _check(id: str) -> None:
    """A transcript may call itself anything; none of it may become an option of a tool."""
    if not _ID.fullmatch(id):
        raise CortextError(f"{id!r} is no id that a tool can be given")


def has_command(tool: str, cwd: str) -> bool:
    """Whether a tool, started in a folder, knows `/workspace.resume` as we wrote it for the person.

    A project's own command of that name would run in its place, and is not ours to start.
    """
    commands = slash_commands_of(tool)
    if commands is None:
        return False
    name = f"{RESUME}.{commands.extension}"
    folders, folder = list[str](), os.path.abspath(cwd)
    while True:
        folders.append(os.path.join(folder, commands.workspace_folder))
        parent = os.path.dirname(folder)
        # A tool looks in its project, whose root has the repository.
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    ours = commands.user_folder()
    theirs = [each for each in folders if os.path.abspath(each) != os.path.abspath(ours)]
    if any(os.path.lexists(os.path.join(each, name)) for each in theirs):
        return False
    return os.path.isfile(os.path.join(ours, name))
