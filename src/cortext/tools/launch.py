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
    """A command that starts a tool.

    `words` is the command line, and `cwd` is the working folder. `environment` holds variables to
    add. `given` is the text for stdin, or None if the tool uses the terminal.
    """

    tool: str
    words: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    given: str | None = None


class Launcher:
    """The ways to start one tool. A subclass overrides the methods that its tool supports."""

    asks_in_copy: bool = False
    """Whether `cortext ask` runs the tool in an empty folder, on a copy of the session.

    Some tools run programs from a project's settings, and no option prevents that. Other tools
    store the copy of a session in the session's folder, wherever they are started.
    """
    takes_command: bool = False
    """Whether the tool can be started with a slash command."""
    takes_instructions: bool = False
    """Whether the tool can be started with a file of instructions."""
    deletes_resumed: bool = False
    """Whether the tool may delete a session that it resumes.

    If so, cortext copies the session to the archive first.
    """
    takes_empty_session: bool = False
    """Whether cortext may write a session without messages, only to give the tool instructions."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        """Return the command that resumes the session `id` of the tool.

        `command` is a slash command that the tool runs first. `instructions` is the path of a file
        that the tool reads. A tool that does not support a parameter ignores it.
        """
        raise NotImplementedError

    def fork(self, id: str, *, new: str, cwd: str, command: str = "") -> LaunchPlan | None:
        """Return the command that copies the session `id` and continues in the copy.

        The copy gets the id `new`. The result is None if the tool cannot use a given id.
        """
        return None

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        """Return the command that starts a new session with a slash command or instructions.

        `instructions` is the path of a file. The result is None if the tool accepts neither.
        """
        return None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        """Return the command that answers one question about the session `id`.

        The question comes on stdin, and the answer goes to stdout. The model cannot call tools, and
        the session does not change. `policy` is the path of a file with the content of
        `deny_policy`. `extra` holds more arguments.
        """
        raise NotImplementedError

    def deny_policy(self) -> bytes:
        """Return the content of a policy file that forbids all tool calls, or b"" if not needed."""
        return b""

    def delete(self, id: str, cwd: str) -> LaunchPlan | None:
        """Return the command with which the tool deletes a session that cortext wrote.

        The result is None if the session is a file, because cortext deletes files itself.
        """
        return None

    def knows_briefing(self, path: str) -> bool:
        """Return whether the agent of the session at `path` can get a briefing.

        The briefing has the instructions for a conversation. The result is False only for a tool
        that accepts no instructions at a resume, if cortext did not write the session.
        """
        return True


class ToolMissingError(CortextError):
    """The error that a requested tool is not installed. Its hint tells how to install the tool."""

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
    """Return the object that makes the command lines of a tool.

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
    """Return the command that resumes a session of a tool, as `Launcher.resume` defines.

    `extra` holds arguments to append.
    """
    _check(id)
    plan = launcher_of(tool).resume(id, cwd=cwd, command=command, instructions=instructions)
    return plan._replace(words=(*plan.words, *extra))


def fork_plan(
    tool: str, id: str, *, new: str, cwd: str, command: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the command that continues in a copy of a session, as `Launcher.fork` defines."""
    _check(id)
    plan = launcher_of(tool).fork(id, new=new, cwd=cwd, command=command)
    return plan and plan._replace(words=(*plan.words, *extra))


def start_plan(
    tool: str, *, cwd: str, command: str = "", instructions: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the command that starts a new session of a tool, as `Launcher.start` defines."""
    plan = launcher_of(tool).start(cwd=cwd, command=command, instructions=instructions)
    return plan and plan._replace(words=(*plan.words, *extra))


def ask_plan(
    tool: str, id: str, question: str, cwd: str, *, denying: str, extra: Sequence[str] = ()
) -> LaunchPlan:
    """Return the command that answers one question about a session, as `Launcher.ask` defines.

    `denying` is the path of a file with the content of `Launcher.deny_policy`.
    """
    _check(id)
    plan = launcher_of(tool).ask(id, cwd=cwd, policy=denying, extra=extra)
    return plan._replace(given=question)


def forget_plan(tool: str, id: str, cwd: str) -> LaunchPlan | None:
    """Return the command with which a tool deletes a session that cortext wrote, or None.

    `Launcher.delete` defines the result.
    """
    _check(id)
    return launcher_of(tool).delete(id, cwd)


def _check(id: str) -> None:
    """Raise CortextError if a session id is unsafe on a command line, for example "--help".

    A transcript may contain any text as its id.
    """
    if not _ID.fullmatch(id):
        raise CortextError(f"{id!r} is no id that a tool can be given")


def has_command(tool: str, cwd: str) -> bool:
    """Return whether `/workspace.resume` runs our command if a tool is started in `cwd`.

    The result is False if our command is not installed, or if the project has a command of the
    same name, because the tool would run the project's command.
    """
    commands = slash_commands_of(tool)
    if commands is None:
        return False
    name = f"{RESUME}.{commands.extension}"
    folders, folder = list[str](), os.path.abspath(cwd)
    while True:
        folders.append(os.path.join(folder, commands.workspace_folder))
        parent = os.path.dirname(folder)
        # A tool searches up to the root of the git repository.
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    ours = commands.user_folder()
    theirs = [each for each in folders if os.path.abspath(each) != os.path.abspath(ours)]
    if any(os.path.lexists(os.path.join(each, name)) for each in theirs):
        return False
    return os.path.isfile(os.path.join(ours, name))
