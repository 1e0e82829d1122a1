"""The command lines that start tools, with their working folders and environments.

A command line holds no text of a conversation. It holds at most a slash command and a session id.
No argument makes a tool skip its own permission questions.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from cortext.errors import CortextError
from cortext.tools.descriptor import Tool
from cortext.tools.registry import find_tool, get_tool, tools
from cortext.tools.slash_command_files import slash_commands_of

RESUME = "workspace.resume"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class LaunchPlan(msgspec.Struct, frozen=True):
    """A command that starts a tool.

    `words` is the command line, and `cwd` is the working folder. `environment` holds environment
    variables to add. `given` is the text for stdin, or None if this plan has no such text.
    """

    tool: str
    words: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    given: str | None = None


class Launcher:
    """The command lines that start one tool. A subclass overrides the methods it supports."""

    asks_in_copy: bool = False
    """Whether `cortext ask` first copies the session to an empty folder, and runs the tool there.

    True for a tool that runs programs from a project's settings, and has no option to prevent that.
    Also True for a tool that would store a copy of the session in the session's folder.
    """
    takes_command: bool = False
    """Whether the command line that starts the tool can contain a slash command to run first."""
    takes_instructions: bool = False
    """Whether the tool can read a file of instructions when it starts."""
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

        The copy gets the id `new`. `command` is a slash command that the tool runs first. The
        result is None if the tool does not let cortext choose the id of the copy.
        """
        return None

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        """Return the command that starts a new session with a slash command or instructions.

        `command` is the slash command. `instructions` is the path of a file that the tool reads.
        The result is None if both are "". It is also None if the tool accepts neither a slash
        command nor instructions at its start.
        """
        return None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        """Return the command that answers one question about the session `id`.

        The question comes on stdin, and the answer goes to stdout. The model cannot call tools, and
        the session does not change. `policy` is the path of a file that contains the result of
        `deny_policy`. `extra` holds more arguments for the command.
        """
        raise NotImplementedError

    def deny_policy(self) -> bytes:
        """Return the content of a policy file that forbids all tool calls, or b"" if not needed."""
        return b""

    def delete(self, id: str, cwd: str) -> LaunchPlan | None:
        """Return the tool's command that deletes the session `id`.

        The session must be one that cortext wrote. The result is None if the tool stores sessions
        as files, because cortext itself deletes files.
        """
        return None

    def knows_briefing(self, path: str) -> bool:
        """Return whether the agent knows the briefing when the session at `path` is resumed.

        A briefing is a text with the instructions for a conversation. Most tools accept a briefing
        as an argument when they resume a session. For these tools, the result is always True. For
        other tools, it is True only if cortext wrote the briefing into the session.
        """
        return True


class ToolMissingError(CortextError):
    """A requested tool is not installed. The hint of the error tells how to install the tool."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        names = installed()
        others = f"; or choose an installed tool with --tool: {', '.join(names)}" if names else ""
        command = find_tool(tool).install_command
        super().__init__(
            f"{tool} is not installed",
            hint=f"install it with `{command}`{others}"
            if command
            else others.removeprefix("; or "),
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
    descriptor = find_tool(tool)
    launcher_of(tool)
    if not _is_installed(descriptor):
        raise ToolMissingError(tool)


def launcher_of(tool: str) -> Launcher:
    """Return the `Launcher` of a tool, which makes the command lines that start the tool.

    Raises MissingCapabilityError if cortext cannot start the tool.
    """
    descriptor = find_tool(tool)
    names = [each.name for each in tools() if each.launcher]
    return descriptor.load("launcher", hint=f"choose another tool with --tool: {', '.join(names)}")(
        descriptor
    )


def install_hint(tool: str) -> str:
    """Return the command that installs a tool, in parentheses, for use in a message.

    The result is "" if the command is not known.
    """
    descriptor = get_tool(tool)
    return f" (`{descriptor.install_command}`)" if descriptor and descriptor.install_command else ""


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
    return replace(plan, words=(*plan.words, *extra))


def fork_plan(
    tool: str, id: str, *, new: str, cwd: str, command: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the command that continues in a copy of a session, as `Launcher.fork` defines.

    `extra` holds arguments to append.
    """
    _check(id)
    plan = launcher_of(tool).fork(id, new=new, cwd=cwd, command=command)
    return plan and replace(plan, words=(*plan.words, *extra))


def start_plan(
    tool: str, *, cwd: str, command: str = "", instructions: str = "", extra: Sequence[str] = ()
) -> LaunchPlan | None:
    """Return the command that starts a new session of a tool, as `Launcher.start` defines.

    `extra` holds arguments to append.
    """
    plan = launcher_of(tool).start(cwd=cwd, command=command, instructions=instructions)
    return plan and replace(plan, words=(*plan.words, *extra))


def ask_plan(
    tool: str, id: str, question: str, cwd: str, *, denying: str, extra: Sequence[str] = ()
) -> LaunchPlan:
    """Return the command that answers one question about a session, as `Launcher.ask` defines.

    `denying` is the path of a file that contains the result of `Launcher.deny_policy`.
    """
    _check(id)
    plan = launcher_of(tool).ask(id, cwd=cwd, policy=denying, extra=extra)
    return replace(plan, given=question)


def delete_plan(tool: str, id: str, cwd: str) -> LaunchPlan | None:
    """Return the command that deletes a session that cortext wrote, as `Launcher.delete` defines.

    The result is None if no command is needed.
    """
    _check(id)
    return launcher_of(tool).delete(id, cwd)


def _check(id: str) -> None:
    """Raise CortextError if a session id is unsafe on a command line, for example "--help".

    The id comes from a transcript, which may contain any text.
    """
    if not _ID.fullmatch(id):
        raise CortextError(f"the session id {id!r} cannot be passed to a tool")


def has_command(tool: str, cwd: str) -> bool:
    """Return whether `/workspace.resume` runs cortext's command in a tool that is started in `cwd`.

    The result is False if our command is not installed. It is also False if the project has a
    command of the same name, because the tool would run the project's command.
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
