"""Connect cortext to the user's AI tools, and disconnect it.

A connected tool has hooks, slash commands and the MCP server of cortext in its settings. All
changes are planned first and shown. They are made when the user agrees. A record of every change
lets `cortext uninstall` restore each file byte for byte.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.durability.replace_file import storage_errors
from cortext.errors import CortextError, reason_of
from cortext.features.setup.install_manifest import (
    Record,
    SetupRecord,
    as_bytes,
    as_text,
    digest,
    missing_folders,
    read_or_none,
    setup_lock,
    write,
)
from cortext.installation import install_command
from cortext.tools import settings
from cortext.tools.descriptor import MissingCapabilityError, Plugin
from cortext.tools.registry import find_tool, tools
from cortext.tools.settings import SettingsFile
from cortext.tools.slash_commands import SlashCommand, SlashCommands, slash_commands_of

COMMANDS = (
    SlashCommand(
        "workspace.resume",
        "briefing",
        "Find an earlier conversation again and go on with it.",
        "[number, id or words]",
    ),
    SlashCommand(
        "workspace.stop-conversation",
        "stop --how",
        "Save this conversation and pause it.",
        "[where you stopped]",
    ),
    SlashCommand("cortext", "briefing", "Go on with an earlier conversation.", "[words]"),
)


class FileChange(NamedTuple):
    """A planned change of one file.

    `old` and `new` are the contents before and after; None means no file. `record` describes how to
    undo the change, or is None if there is nothing to undo. `whole` means that the complete file is
    ours: if it is a link, the link is removed and not its target.
    """

    tool: str
    path: str
    old: bytes | None
    new: bytes | None
    record: Record | None = None
    whole: bool = False


class SetupPlan(NamedTuple):
    """The plan of `cortext setup` or `cortext uninstall`: changes, and notes for the user.

    `left` are the tools with a settings file that is left as it is. `failed` are those of them
    whose file cannot be read. `gone` are recorded files that contain nothing of cortext any more.
    `again` makes the plan again from the current files.
    """

    again: Callable[[], SetupPlan]
    changes: list[FileChange]
    notes: list[str]
    left: list[str]
    failed: list[str]
    gone: list[str]

    @property
    def tools(self) -> list[str]:
        """The names of the tools whose files change."""
        return list(dict.fromkeys(change.tool for change in self.changes))


def found_tools() -> list[str]:
    """Return the names of the AI tools that this user has and that cortext can connect to.

    The user has a tool if its program is on the PATH or its folder exists.
    """
    return [
        tool.name
        for tool in tools()
        if tool.is_connectable and (shutil.which(tool.executable) or os.path.isdir(tool.home))
    ]


def require_connectable(names: Iterable[str]) -> None:
    """Raise MissingCapabilityError for a tool to which cortext can add nothing."""
    for name in names:
        tool = find_tool(name)
        if not tool.is_connectable:
            raise MissingCapabilityError(tool, "setup", hint="its sessions are listed as they are")


def plan_setup(names: Sequence[str], *, plugin: bool = False) -> SetupPlan:
    """Plan to add hooks, slash commands and the MCP server of cortext to these tools.

    Our plug-in for a tool is added if `plugin` is true or the plug-in is already installed. The
    plan leaves out what is already set up. Raises MissingCapabilityError for a tool that cortext
    cannot connect to.
    """
    plan = SetupPlan(partial(plan_setup, names, plugin=plugin), [], [], [], [], [])
    installed = SetupRecord.load()
    require_connectable(names)
    for tool in names:
        hooks, servers = _settings_of(tool)
        if hooks:
            with _leaving(tool, plan):
                _plan_hooks(tool, hooks, installed, plan)
        if commands := slash_commands_of(tool):
            _plan_commands(tool, commands, installed, plan)
        own = plugin_of(tool)
        if own and (plugin or os.path.isfile(own.path)):
            _plan_plugin(tool, own, installed, plan)
        if servers:
            with _leaving(tool, plan):
                _plan_hooks(tool, servers, installed, plan)
    if not _can_serve():
        plan.notes.append(
            "the MCP server is not set up, because the package mcp is not installed: "
            f"`{install_command('mcp')}`, then `cortext setup` again"
        )
    if shutil.which("cortext") is None:
        plan.notes.append(
            "`cortext` is not on your PATH, and the tools call it by that name: put it there"
        )
    return plan


def plan_uninstall(names: Sequence[str]) -> SetupPlan:
    """Plan to remove everything that `setup` added to these tools."""
    installed = SetupRecord.load()
    gone = [path for path in installed.paths(names) if not os.path.exists(path)]
    plan = SetupPlan(partial(plan_uninstall, names), [], [], [], [], gone)
    for tool in names:
        hooks, servers = _settings_of(tool)
        if hooks:
            with _leaving(tool, plan):
                _plan_without_hooks(tool, hooks, installed, plan)
        if commands := slash_commands_of(tool):
            _plan_without_commands(tool, commands, installed, plan)
        if servers:
            with _leaving(tool, plan):
                _plan_without_hooks(tool, servers, installed, plan)
        if own := plugin_of(tool):
            _plan_without_file(tool, own.path, partial(_plugin_text, own), installed, plan)
    return plan


def _plugin_text(plugin: Plugin, old: bytes) -> bytes:
    return plugin.text()


def _settings_of(tool: str) -> tuple[SettingsFile | None, SettingsFile | None]:
    """Return a tool's settings file for hooks and that for MCP servers.

    The second is None if it is the same file.
    """
    hooks, servers = settings.hooks_file(tool), settings.server_file(tool)
    is_same = hooks and servers and hooks.path == servers.path
    return hooks, None if is_same else servers


def plugin_of(tool: str) -> Plugin | None:
    """Return the plug-in of cortext for a tool; None if there is no plug-in for that tool."""
    found = find_tool(tool)
    return found.load("plugin")() if found.plugin else None


def carry_out(plan: SetupPlan, *, anyway: bool = False) -> SetupPlan:
    """Make the changes of a plan under a lock, and return the plan that was carried out.

    The returned plan leaves out changes that another process made meanwhile. If a file changed
    since the plan was shown, raise CortextError and do nothing. With `anyway`, do not compare with
    the shown plan, and make the changes that are needed now.
    """
    with storage_errors("write", paths.setup_record()), setup_lock():
        fresh = plan.again()
        if not anyway:
            _check_agreed(plan, fresh)
        installed = SetupRecord.load()
        installed.clean()
        for change in fresh.changes:
            _carry_out(change, installed)
        gone = [change.path for change in fresh.changes if change.record is None]
        installed.forget([*gone, *fresh.gone])
    return fresh


def _check_agreed(shown: SetupPlan, fresh: SetupPlan) -> None:
    """Raise CortextError if the plan `fresh` has a change that the user did not agree to.

    `shown` is the plan that the user saw. New contents may differ, because a new command file
    contains a random end marker.
    """
    agreed = {change.path: change for change in shown.changes}
    for change in fresh.changes:
        seen = agreed.get(change.path)
        gone = change.new is None
        if not seen or seen.old != change.old or (seen.new is None) != gone:
            raise _changed(change)


def _carry_out(change: FileChange, installed: SetupRecord) -> None:
    itself = change.whole and change.new is None
    path = change.path if itself else os.path.realpath(change.path)
    with storage_errors("write", path):
        if read_or_none(path) != change.old:
            raise _changed(change)
        if change.record is not None:
            folders = missing_folders(path)
            installed.keep(change.path, {**change.record, "tool": change.tool, "folders": folders})
        write(path, change.new)


def _changed(change: FileChange) -> CortextError:
    return CortextError(
        f"{change.path} was changed meanwhile", hint="nothing was done to it: try again"
    )


def has_hooks(tool: str) -> bool:
    """Return whether our hooks or plug-in for a tool are installed.

    They capture the messages of the tool automatically.
    """
    plugin, hooks = plugin_of(tool), settings.hooks_file(tool)
    place = plugin or hooks
    if place is None:
        return False
    try:
        data = read_or_none(place.path)
    except OSError:
        return False  # `doctor` and `setup` report this.
    if plugin:
        ours = data == plugin.text()
        return ours or (data is not None and _is_on_record(plugin.path, data, SetupRecord.load()))
    return hooks is not None and hooks.has_hooks(as_text(data or b""))


def _is_on_record(path: str, data: bytes, installed: SetupRecord) -> bool:
    """Return whether a file still has the contents that `cortext setup` wrote."""
    return installed.of(path, data).get("digest") == digest(data)


@contextmanager
def _leaving(tool: str, plan: SetupPlan) -> Generator[None]:
    """Leave a file that cannot be read as it is, and continue with the rest of the plan."""
    try:
        yield
    except OSError as error:
        why = reason_of(error)
        plan.notes.append(f"{error.filename} is left as it is: {why}")
        plan.left.append(tool)
        plan.failed.append(tool)


def _can_serve() -> bool:
    """Return whether the package that `cortext mcp` needs is installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _plan_hooks(tool: str, file: SettingsFile, installed: SetupRecord, plan: SetupPlan) -> None:
    """Plan hooks and the MCP server in a settings file of a tool."""
    path = file.path
    old = read_or_none(path)
    text = as_text(old or b"")
    but = [] if _can_serve() else [settings.ENTRY]
    try:
        if file.is_complete(text, but):
            return
        before = _before(file, text, installed)
        edited = file.with_hooks(before, but=but)
    except ValueError as error:
        instead = file.explain_conflict(text)
        plan.notes.append(f"{path} is left as it is: {error}{instead}")
        plan.left.append(tool)
        plan.failed.extend([] if instead else [tool])
        return
    new = as_bytes(edited.text)
    if new != old:
        record = {"digest": digest(new), "steps": edited.steps, "made": edited.made}
        made = old is None or installed.of(path).get("new") is True
        plan.changes.append(FileChange(tool, path, old, new, {**record, "new": made}))


def _plan_without_hooks(
    tool: str, file: SettingsFile, installed: SetupRecord, plan: SetupPlan
) -> None:
    path = file.path
    old = read_or_none(path)
    if old is None:
        return
    try:
        before = as_bytes(_before(file, as_text(old), installed))
    except ValueError as error:
        plan.notes.append(f"{path} is left as it is: {error}")
        return
    if before == old:
        plan.gone.extend([path] if installed.of(path) else [])
    else:
        empty = b"".join(before.split()) in (b"", b"{}")
        gone = empty and installed.of(path).get("new") is True
        plan.changes.append(FileChange(tool, path, old, None if gone else before))


def _before(file: SettingsFile, text: str, installed: SetupRecord) -> str:
    """Return a settings file without the entries of cortext.

    If nobody changed the file since, the result is exactly the file before the setup.
    """
    record = installed.of(file.path, as_bytes(text))
    if record.get("digest") == digest(as_bytes(text)):
        before = _undone(file, text, record.get("steps"))
        if before is not None:
            return before
    made: Any = record.get("made")
    paths_made = [each for each in made if _is_made(each)] if _is_paths(made) else []
    return file.without_hooks(text, paths_made)


def _undone(file: SettingsFile, text: str, steps: Any) -> str | None:
    """Undo the recorded steps of a setup, and return the settings as they were before.

    Return None if a new setup of the result would not give `text` again. This check is needed
    because anybody can edit the record.
    """
    try:
        before = settings.undone(text, steps)
        lacking = file.missing(text)
        again = file.with_hooks(before, but=lacking)
        return before if again.text == text else None
    except (TypeError, ValueError, LookupError):
        return None


def _is_made(path: list[Any]) -> bool:
    return bool(path) and path[0] in settings.MADE


def _is_paths(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(path, list) for path in cast("list[Any]", value)
    )


def _plan_commands(
    tool: str, commands: SlashCommands, installed: SetupRecord, plan: SetupPlan
) -> None:
    for command in COMMANDS:
        path = os.path.join(commands.user_folder(), commands.file_name(command))
        with _leaving(tool, plan):
            old = read_or_none(path)
            new = commands.file_text(command, as_text(old or b"")).encode()
            _plan_file(tool, path, old, new, installed, plan)


def _plan_file(
    tool: str, path: str, old: bytes | None, new: bytes, installed: SetupRecord, plan: SetupPlan
) -> None:
    """Plan to write a file that is completely ours.

    Plan nothing if the user changed the file or put a link in its place.
    """
    if old == new:
        return
    if os.path.islink(path) or (old is not None and not _is_on_record(path, old, installed)):
        plan.notes.append(f"{path} is kept as you have it; without it, setup writes ours")
        return
    plan.changes.append(FileChange(tool, path, old, new, {"digest": digest(new)}))


def _plan_plugin(tool: str, plugin: Plugin, installed: SetupRecord, plan: SetupPlan) -> None:
    path = plugin.path
    with _leaving(tool, plan):
        _plan_file(tool, path, read_or_none(path), plugin.text(), installed, plan)
    if any(change.path == path and change.old is None for change in plan.changes):
        plan.notes.append(plugin.note)


def _plan_without_commands(
    tool: str, commands: SlashCommands, installed: SetupRecord, plan: SetupPlan
) -> None:
    for command in COMMANDS:
        path = os.path.join(commands.user_folder(), commands.file_name(command))
        ours = partial(_as_we_write_it, commands, command)
        _plan_without_file(tool, path, ours, installed, plan)


def _as_we_write_it(commands: SlashCommands, command: SlashCommand, old: bytes) -> bytes:
    return commands.file_text(command, as_text(old)).encode()


def _plan_without_file(
    tool: str, path: str, ours: Callable[[bytes], bytes], installed: SetupRecord, plan: SetupPlan
) -> None:
    old = None
    with _leaving(tool, plan):
        old = read_or_none(path)
    if old is None:
        return
    if _is_on_record(path, old, installed) or old == ours(old):
        plan.changes.append(FileChange(tool, path, old, None, whole=True))
    else:
        plan.notes.append(f"{path} is kept as you have it")
