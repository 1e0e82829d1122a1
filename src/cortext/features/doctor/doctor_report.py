"""The report of `cortext doctor`: facts about cortext and the AI tools, and every problem found.

Making the report changes nothing and starts no tool. It only starts the MCP server of cortext, in
the same way as a tool does. A tool without a connection to cortext is not reported as a problem,
because listing, archiving and resuming need no connection.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from cortext import __version__, clock, paths
from cortext.config import Config
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, why
from cortext.features.archive.archive_copy_states import sizes
from cortext.features.doctor.check_mcp import (
    GONE,
    UNREADABLE,
    FoundMcpEntry,
    ServerHealth,
    entry_path,
    read_mcp_entry,
    start_server,
)
from cortext.features.doctor.check_programs_and_disks import is_tested, read_tool_version
from cortext.features.doctor.check_results import (
    NOTE,
    Problem,
    Repair,
    is_absent,
    report_unforeseen,
)
from cortext.features.doctor.checkup import Checkup, Progress, run_checkup
from cortext.features.errors_log import last_errors
from cortext.features.setup.tool_setup import (
    COMMANDS,
    find_connectable_tools,
    has_hooks,
    has_recall,
    has_status_line,
    plan_setup,
)
from cortext.installation import install_command
from cortext.tools import settings_files
from cortext.tools.registry import find_tool, tool_names
from cortext.tools.slash_command_files import slash_commands_of
from cortext.tools.transcript_folders import own_home

_RECENT = timedelta(days=7)
"""The time for which an error in the log counts as a problem. The log has older errors too."""
ALL, SOME, NONE, NOT_USED = "all", "some", "none", "not used"


class ToolHealth(msgspec.Struct):
    """The state of one AI tool on this machine.

    `program` is None if the tool is not on the PATH. `hooks` and `commands` say how many of the
    hooks and slash commands of cortext are installed: all, some, none, or not used by this tool.
    `server` is the state of our MCP server's entry in the tool's settings, a constant of
    `check_mcp`. `version` is "" if it is unknown. `tested` is False if the version is newer than
    the version that the tests cover. `recall` says whether the tool's agent is told about earlier
    decisions when a session starts. `status_line` says whether the tool shows our status line.
    """

    tool: str
    program: str | None
    folder: str
    hooks: str
    commands: str
    server: str
    version: str = ""
    tested: bool = True
    recall: bool = False
    status_line: bool = False

    @property
    def connected(self) -> bool:
        return ALL in (self.hooks, self.commands) or SOME in (self.hooks, self.commands)


class ArchiveHealth(msgspec.Struct):
    """The state of the archive, which has compressed copies of the tools' transcripts.

    `copies` is the number of copies. `sources` is their uncompressed size and `packed` their
    compressed size, in bytes. `last_sync` is the time when transcripts were last copied into the
    archive; None if never. `enabled` is None if the settings cannot be read.
    """

    folder: str
    enabled: bool | None
    copies: int
    sources: int
    packed: int
    last_sync: datetime | None


class Health(msgspec.Struct):
    """The complete result of `cortext doctor`.

    `program` is the path of the command `cortext`, or None if it is not on the PATH. `errors` are
    the last lines of the error log, oldest first. `conversations` is the number of all
    conversations, and `read` is how many of them this run read. The others had no problem in an
    earlier run and are unchanged.
    """

    version: str
    program: str | None
    tools: list[ToolHealth]
    server: ServerHealth
    archive: ArchiveHealth
    errors: list[str]
    problems: list[Problem]
    conversations: int = 0
    read: int = 0

    @property
    def is_well(self) -> bool:
        """True if nothing is wrong. Notes are only information and do not count."""
        return all(problem.severity == NOTE for problem in self.problems)


class Diagnosis(NamedTuple):
    """The report, and the data that is needed to repair problems and to check again.

    `of_tools` are the problems of the connections to AI tools. `checkup` has the results of all
    other checks.
    """

    health: Health
    of_tools: list[Problem]
    checkup: Checkup

    @property
    def mends(self) -> list[Repair]:
        return self.checkup.mends


def examine() -> Health:
    """Run all checks and return the complete report of `cortext doctor`."""
    return diagnose().health


def diagnose(*, deep: bool = False, progress: Progress | None = None) -> Diagnosis:
    """Run all checks. Return the report of `cortext doctor`, with the possible repairs.

    If `deep` is true, also read files that had no problem in an earlier run and are unchanged.
    """
    health = _check_connections()
    checkup = run_checkup(deep=deep, progress=progress)
    health.conversations, health.read = checkup.conversations, checkup.read
    examined = Diagnosis(health, health.problems, checkup)
    health.problems = [*examined.of_tools, *checkup.problems]
    return examined


def recheck(examined: Diagnosis) -> None:
    """Repeat the checks that found something to repair, and update the report in `examined`."""
    examined.checkup.recheck()
    examined.health.archive = _check_archive([])
    examined.health.problems = [*examined.of_tools, *examined.checkup.problems]


def _check_connections() -> Health:
    problems: list[Problem] = []
    found = {tool: read_mcp_entry(tool) for tool in find_connectable_tools()}
    tools = [_check_tool(tool, entry, problems) for tool, entry in found.items()]
    program = shutil.which("cortext")
    if program is None and any(tool.connected for tool in tools):
        problems.append(
            Problem(
                "`cortext` is not on the PATH, but your tools call it by that name",
                "add the folder of `cortext` to the PATH of the shell that starts your tools",
            )
        )
    if complete := [tool.tool for tool in tools if tool.commands == ALL]:
        _note_outdated_commands(complete, problems)
    server = _check_server(found, problems)
    errors = [] if is_absent(paths.log_file()) else last_errors()
    if errors:
        _check_error_log(errors, problems)
    return Health(__version__, program, tools, server, _check_archive(problems), errors, problems)


def _check_tool(tool: str, entry: FoundMcpEntry, problems: list[Problem]) -> ToolHealth:
    hooks, commands = _check_hooks(tool, problems), _check_commands(tool, problems)
    program = shutil.which(find_tool(tool).executable)
    version = read_tool_version(program)
    return ToolHealth(
        tool,
        program,
        own_home(tool),
        hooks,
        commands,
        entry.state,
        version,
        is_tested(tool, version),
        has_recall(tool),
        has_status_line(tool),
    )


def _check_server(entries: dict[str, FoundMcpEntry], problems: list[Problem]) -> ServerHealth:
    for tool, entry in entries.items():
        if entry.state == UNREADABLE and all(entry.why not in each.text for each in problems):
            hint = f"correct the file by hand, then run `cortext setup --tools {tool}`"
            problems.append(Problem(entry.why, hint))
        # `_check_connections` reports a missing `cortext` once for all tools.
        elif entry.state == GONE and entry.command[0] != "cortext":
            text = f"the MCP server in the settings of {tool} does not exist: {entry.command[0]}"
            hint = f"remove the entry `cortext` from {entry_path(tool)}, then run `cortext setup`"
            problems.append(Problem(text, hint))
    health = ServerHealth(package=_has_package("mcp"))
    if entries:
        start_server(health, [*entries.values()])
    if health.starts is False:
        hint = "run `cortext mcp` in a terminal to see the error"
        if not health.package:
            hint = f"install the missing package with `{install_command('mcp')}`"
        problems.append(Problem(f"the MCP server does not start: {health.why}", hint))
    return health


def _has_package(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _check_hooks(tool: str, problems: list[Problem]) -> str:
    hooks = settings_files.hooks_file(tool)
    if hooks is None:
        return ALL if has_hooks(tool) else NOT_USED
    path = hooks.path
    try:
        text = read_file(path).decode("utf-8", "replace") if os.path.lexists(path) else ""
        missing = hooks.missing_hooks(text)
    except (OSError, ValueError) as error:
        hint = f"correct the file by hand, then run `cortext setup --tools {tool}`"
        problems.append(Problem(f"{path} cannot be read: {why(error)}", hint))
        return NONE
    return _judge_installed(f"hooks of {tool}", tool, missing, len(hooks.events), problems)


def _check_commands(tool: str, problems: list[Problem]) -> str:
    commands = slash_commands_of(tool)
    if commands is None:
        return NOT_USED
    folder = commands.user_folder()
    names = [commands.file_name(command) for command in COMMANDS]
    missing = [name for name in names if not os.path.isfile(os.path.join(folder, name))]
    return _judge_installed(f"commands in {folder}", tool, missing, len(names), problems)


def _note_outdated_commands(tools: list[str], problems: list[Problem]) -> None:
    """Add a note for slash command files that differ from the files that this version writes."""
    try:
        changes = plan_setup(tools).changes
    except (CortextError, OSError):
        return  # `_check_hooks` and `_check_commands` already reported what cannot be read.
    for tool in tools:
        commands = slash_commands_of(tool)
        if commands is None:
            continue
        folder = commands.user_folder()
        own = [c.path for c in changes if c.old is not None and os.path.dirname(c.path) == folder]
        if own:
            names = ", ".join(map(os.path.basename, own))
            text = f"commands in {folder} differ from those of this version: {names}"
            hint = f"run `cortext setup --tools {tool}` to see the changes and apply them"
            problems.append(Problem(text, hint, NOTE, own[0]))


def _judge_installed(
    what: str, tool: str, missing: list[str], wanted: int, problems: list[Problem]
) -> str:
    """Return ALL, SOME or NONE: how many of cortext's items, such as hooks, a tool has.

    `missing` are the names of the missing items, and `wanted` is the number of all items. If the
    result is SOME, add a problem to `problems`. `what` is the subject of the problem's text, such
    as "hooks of codex".
    """
    if not missing:
        return ALL
    if len(missing) == wanted:
        return NONE
    hint = f"run `cortext setup --tools {tool}` to install them again"
    problems.append(Problem(f"{what} are missing: {', '.join(missing)}", hint))
    return SOME


def _check_error_log(errors: list[str], problems: list[Problem]) -> None:
    since = (clock.now() - _RECENT).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    recent = [line for line in errors if line[:20] >= since]
    if recent:
        times = "once" if len(recent) == 1 else f"{len(recent)} times"
        text = f"hooks or background tasks failed {times} in the last {_RECENT.days} days"
        hint = f"the errors are in {paths.log_file()}; delete the file after you fixed them"
        problems.append(Problem(text, hint))


def _check_archive(problems: list[Problem]) -> ArchiveHealth:
    enabled = None
    try:
        archive_sizes = [] if is_absent(paths.archive()) else sizes()
        last = _last_sync()
    except OSError as error:
        archive_sizes, last = [], None
        problems += report_unforeseen(paths.archive(), error).problems
    try:
        enabled = Config.load(None)["archive.enabled"] == "on"
    except CortextError as error:
        problems.append(Problem(str(error), error.hint or "correct the settings file by hand"))
    return ArchiveHealth(
        folder=paths.archive(),
        enabled=enabled,
        copies=sum(one.copies for one in archive_sizes),
        sources=sum(one.sources for one in archive_sizes),
        packed=sum(one.packed for one in archive_sizes),
        last_sync=last,
    )


def _last_sync() -> datetime | None:
    """Return the time of the last sync; None if there was no sync.

    A sync copies transcripts into the archive. The time is the latest modification time of the
    files that a sync writes.
    """
    folder = paths.archive()
    names = [".started", *(os.path.join(".known", f"{tool}.json") for tool in tool_names())]
    found = [os.path.join(folder, name) for name in names]
    times = [os.stat(path).st_mtime for path in found if os.path.exists(path)]
    return datetime.fromtimestamp(int(max(times)), UTC) if times else None
