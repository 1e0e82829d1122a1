"""The command lines that start tools, with their working folders and environments.

A command line holds no text of a conversation. It holds at most a slash command and a session id.
No argument tells a tool to skip its own permission questions.
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
    """A program to start.

    `words` is the command line and `cwd` the working folder. `environment` holds the variables to
    add. `given` is the text for stdin, or None if the program uses the terminal.
    """

    tool: str
    words: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    given: str | None = None


class Launcher:
    """The ways to start one tool. A subclass overrides the methods that its tool supports."""

    asks_in_copy: bool = False
    """Whether `cortext ask` runs in an empty folder, on a copy of the session.

    This is for two kinds of tools. Some run programs that a project's settings name, and no options
    prevent that. Others put a fork into the folder of the session, wherever they are started.
    """
    takes_command: bool = False
    """Whether the tool can be started with a slash command."""
    takes_instructions: bool = False
    """Whether the tool can be started with a file of instructions."""
    deletes_resumed: bool = False
    """Whether the tool may delete a session that it resumes. The archive copies it first."""
    takes_empty_session: bool = False
    """Whether cortext may write a session without messages, only to give the tool instructions."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        """Return the plan that resumes a session of the tool.

        `command` is a slash command to run first, for tools that accept one. `instructions` is the
        path of a file that the tool reads, for tools that can do so.
        """
        raise NotImplementedError

    def fork(self, id: str, *, new: str, cwd: str, command: str = "") -> LaunchPlan | None:
        """Return the plan that continues in a copy of a session; the copy gets the id `new`.

        None if the tool chooses the id itself.
        """
        return None

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        """Return the plan that starts a new session with a slash command or a file of instructions.

        None if the tool accepts neither.
        """
        return None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        """Return the plan that answers one question without a terminal.

        The tool must not use its own tools. The question comes on stdin, and the answer goes to
        stdout. The tool does not store the turn. `policy` is the path of a file with the content of
        `deny_policy`.
        """
        raise NotImplementedError

    def deny_policy(self) -> bytes:
        """Return a policy file for `ask` that forbids every tool, or b"" if `ask` needs none."""
        return b""

    def delete(self, id: str, cwd: str) -> LaunchPlan | None:
        """Return the plan that lets the tool delete a session that cortext wrote.

        None if the session is a file that cortext deletes.
        """
        return None

    def knows_briefing(self, path: str) -> bool:
        """Return whether the session at `path` can get the conversation's command at a resume."""
        return True


class ToolMissingError(CortextError):
    """A tool was requested that is not installed."""

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
    """Return the names of the tools that cortext can start and whose programs are on the PATH."""
    return [tool.name for tool in tools() if tool.launcher and _is_installed(tool)]


def _is_installed(tool: Tool) -> bool:
    return bool(tool.executable and shutil.which(tool.executable))


def require(tool: str) -> None:
    """Check that a tool can be started.

    Raises ToolMissingError if the tool is not installed. Raises MissingCapabilityError if cortext
    cannot start this tool.
    """
    found = find_tool(tool)
    launcher_of(tool)
    if not _is_installed(found):
        raise ToolMissingError(tool)


def launcher_of(tool: str) -> Launcher:
    """Return the launcher of a tool.

    Raises MissingCapabilityError if cortext cannot start the tool.
    """
    found = find_tool(tool)
    there = [each.name for each in tools() if each.launcher]
    return found.load("launcher", hint=f"`--tool` takes {', '.join(there)}")(found)


def install_hint(tool: str) -> str:
    """Return the command that installs a tool, in brackets, or "" if the command is not known."""
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
    """Return the plan that resumes a session of a tool. See `Launcher.resume`.

    `extra` holds arguments to append.
    """
    _check(id)
    plan = launcher_of(tool).resume(id, cwd=cwd, command=command, instructions=instructions)
    return plan._replace(words=(*plan.words, *extra))


def fork_plan(
    tool: str, id: str, *, new: str, cwd: str, command: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the plan that continues in the tool's own copy of a session. See `Launcher.fork`."""
    _check(id)
    plan = launcher_of(tool).fork(id, new=new, cwd=cwd, command=command)
    return plan and plan._replace(words=(*plan.words, *extra))


def start_plan(
    tool: str, *, cwd: str, command: str = "", instructions: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the plan that starts a new session of a tool. See `Launcher.start`."""
    plan = launcher_of(tool).start(cwd=cwd, command=command, instructions=instructions)
    return plan and plan._replace(words=(*plan.words, *extra))


def ask_plan(
    tool: str, id: str, question: str, cwd: str, *, denying: str, extra: Sequence[str] = ()
) -> LaunchPlan:
    """Return the plan that answers one question in a session. See `Launcher.ask`.

    `denying` is the path of the policy file.
    """
    _check(id)
    plan = launcher_of(tool).ask(id, cwd=cwd, policy=denying, extra=extra)
    return plan._replace(given=question)


def forget_plan(tool: str, id: str, cwd: str) -> LaunchPlan | None:
    """Return the plan that lets a tool delete a session that cortext wrote.

    See `Launcher.delete`.
    """
    _check(id)
    return launcher_of(tool).delete(id, cwd)


def _check(id: str) -> None:
    """Raise CortextError if an id could be read as an option of a tool.

    A transcript may contain any text as its id.
    """
    if not _ID.fullmatch(id):
        raise CortextError(f"{id!r} is no id that a tool can be given")


def has_command(tool: str, cwd: str) -> bool:
    """Return whether a tool, started in a folder, runs our `/workspace.resume`.

    The result is False if a project has its own command of that name, because the tool would run
    that.
    """
    commands = slash_commands_of(tool)
    if commands is None:
        return False
    name = f"{RESUME}.{commands.extension}"
    folders, folder = list[str](), os.path.abspath(cwd)
    while True:
        folders.append(os.path.join(folder, commands.workspace_folder))
        parent = os.path.dirname(folder)
        # A tool searches up to the root of the project, which has the repository.
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    ours = commands.user_folder()
    theirs = [each for each in folders if os.path.abspath(each) != os.path.abspath(ours)]
    if any(os.path.lexists(os.path.join(each, name)) for each in theirs):
        return False
    return os.path.isfile(os.path.join(ours, name))
