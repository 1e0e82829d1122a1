"""Connect cortext to the user's AI tools, and disconnect it.

A connected tool has hooks, slash commands and the MCP server of cortext in its settings. All
changes are planned first and shown to the user. They are made only if the user agrees. A record of
every change lets `cortext uninstall` restore each file byte for byte.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec

from cortext import paths
from cortext.durability.durable_files import storage_errors
from cortext.errors import CortextError, reason_of
from cortext.features.setup.setup_record import (
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
from cortext.tools import settings_files
from cortext.tools.descriptor import MissingCapabilityError, Plugin
from cortext.tools.registry import find_tool, tools
from cortext.tools.settings_files import SettingsFile
from cortext.tools.slash_command_files import SlashCommand, SlashCommands, slash_commands_of

COMMANDS = (
    SlashCommand(
        "workspace.resume",
        "briefing",
        "Find an earlier conversation and continue it.",
        "[number, id or words]",
    ),
    SlashCommand(
        "workspace.stop-conversation",
        "stop --how",
        "Save this conversation and pause it.",
        "[where you stopped]",
    ),
    SlashCommand("cortext", "briefing", "Continue an earlier conversation.", "[words]"),
)


class FileChange(NamedTuple):
    """A planned change of one file.

    `old` and `new` are the contents before and after the change; None means no file. `record`
    describes how to undo the change. It is None if there is nothing to undo. `whole` means that the
    complete file belongs to cortext. If such a file is a link, the link is removed, not its target.
    """

    tool: str
    path: str
    old: bytes | None
    new: bytes | None
    record: Record | None = None
    whole: bool = False


class SetupPlan(msgspec.Struct, frozen=True):
    """The plan of `cortext setup` or `cortext uninstall`: changes, and notes for the user.

    - `again` is a function that makes the plan again from the current files.
    - `left` are the tools with a settings file that the plan cannot change.
    - `failed` are those tools in `left` whose settings file cannot be read.
    - `gone` are the paths of recorded files that contain nothing of cortext any more.
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


def find_connectable_tools() -> list[str]:
    """Return the names of the AI tools that this user has and that cortext can connect to.

    The user has a tool if its program is on the PATH or its folder exists.
    """
    return [
        tool.name
        for tool in tools()
        if tool.is_connectable and (shutil.which(tool.executable) or os.path.isdir(tool.home))
    ]


def require_connectable(names: Iterable[str]) -> None:
    """Raise MissingCapabilityError if cortext cannot connect to one of these tools."""
    for name in names:
        tool = find_tool(name)
        if not tool.is_connectable:
            raise MissingCapabilityError(
                tool, "setup", hint="cortext lists its sessions without setup"
            )


def plan_setup(
    names: Sequence[str],
    *,
    plugin: bool = False,
    recall: bool | None = None,
    status_line: bool | None = None,
) -> SetupPlan:
    """Plan to add hooks, slash commands and the MCP server of cortext to these tools.

    Our plug-in for a tool is added if `plugin` is true or the plug-in is already installed. Recall
    is a text about earlier decisions that an agent gets when a session starts. `recall` turns it on
    or off in the tools that support it; None leaves it as it is. `status_line` does the same for
    the status line that shows costs. The plan leaves out everything that is already set up. Raises
    MissingCapabilityError for a tool that cortext cannot connect to.
    """
    again = partial(plan_setup, names, plugin=plugin, recall=recall, status_line=status_line)
    plan = SetupPlan(again, [], [], [], [], [])
    installed = SetupRecord.load()
    require_connectable(names)
    for tool in names:
        hooks, servers = _settings_of(tool)
        if hooks:
            with _skip_unreadable(tool, plan):
                _plan_hooks(tool, hooks, installed, plan, recall=recall, status_line=status_line)
        if commands := slash_commands_of(tool):
            _plan_commands(tool, commands, installed, plan)
        own = plugin_of(tool)
        if own and (plugin or os.path.isfile(own.path)):
            _plan_plugin(tool, own, installed, plan)
        if servers:
            with _skip_unreadable(tool, plan):
                _plan_hooks(tool, servers, installed, plan)
    if not _has_mcp_package():
        plan.notes.append(
            "the MCP server is not set up, because the package mcp is not installed; "
            f"run `{install_command('mcp')}`, then `cortext setup` again"
        )
    if shutil.which("cortext") is None:
        plan.notes.append(
            "`cortext` is not on your PATH, but the tools call it by that name; "
            "add its folder to PATH"
        )
    return plan


def plan_uninstall(names: Sequence[str]) -> SetupPlan:
    """Plan to remove everything that `cortext setup` added to these tools."""
    installed = SetupRecord.load()
    missing = [path for path in installed.paths(names) if not os.path.exists(path)]
    plan = SetupPlan(partial(plan_uninstall, names), [], [], [], [], missing)
    for tool in names:
        hooks, servers = _settings_of(tool)
        if hooks:
            with _skip_unreadable(tool, plan):
                _plan_hooks_removal(tool, hooks, installed, plan)
        if commands := slash_commands_of(tool):
            _plan_commands_removal(tool, commands, installed, plan)
        if servers:
            with _skip_unreadable(tool, plan):
                _plan_hooks_removal(tool, servers, installed, plan)
        if own := plugin_of(tool):
            _plan_file_removal(tool, own.path, partial(_plugin_text, own), installed, plan)
    return plan


def _plugin_text(plugin: Plugin, old: bytes) -> bytes:
    return plugin.text()


def _settings_of(tool: str) -> tuple[SettingsFile | None, SettingsFile | None]:
    """Return two settings files of a tool: the file for hooks, and the file for MCP servers.

    A value is None if the tool has no such file. If both are the same file, the second value is
    None.
    """
    hooks, servers = settings_files.hooks_file(tool), settings_files.server_file(tool)
    is_same = hooks and servers and hooks.path == servers.path
    return hooks, None if is_same else servers


def plugin_of(tool: str) -> Plugin | None:
    """Return the plug-in of cortext for a tool; None if there is no plug-in for that tool."""
    found = find_tool(tool)
    return found.load("plugin")() if found.plugin else None


def carry_out(plan: SetupPlan, *, anyway: bool = False) -> SetupPlan:
    """Make the changes of a plan under a lock, and return the plan that was carried out.

    The returned plan leaves out changes that another process made meanwhile. If a file changed
    since the plan was shown to the user, raise CortextError and change nothing. If `anyway` is
    true, skip this comparison and make the changes that are needed now.
    """
    with storage_errors("write", paths.setup_record()), setup_lock():
        fresh = plan.again()
        if not anyway:
            _check_agreed(plan, fresh)
        installed = SetupRecord.load()
        installed.clean()
        for change in fresh.changes:
            _apply_change(change, installed)
        removed = [change.path for change in fresh.changes if change.record is None]
        installed.forget([*removed, *fresh.gone])
    return fresh


def _check_agreed(shown: SetupPlan, fresh: SetupPlan) -> None:
    """Raise CortextError if the plan `fresh` has a change that the user did not agree to.

    `shown` is the plan that the user saw. The new contents of a file may differ between the plans,
    because a new command file contains a random end marker.
    """
    agreed = {change.path: change for change in shown.changes}
    for change in fresh.changes:
        planned = agreed.get(change.path)
        is_removed = change.new is None
        if not planned or planned.old != change.old or (planned.new is None) != is_removed:
            raise _changed_error(change)


def _apply_change(change: FileChange, installed: SetupRecord) -> None:
    removes_link = change.whole and change.new is None
    path = change.path if removes_link else os.path.realpath(change.path)
    with storage_errors("write", path):
        if read_or_none(path) != change.old:
            raise _changed_error(change)
        if change.record is not None:
            folders = missing_folders(path)
            installed.keep(change.path, {**change.record, "tool": change.tool, "folders": folders})
        write(path, change.new)


def _changed_error(change: FileChange) -> CortextError:
    return CortextError(
        f"{change.path} was changed by another program in the meantime",
        hint="cortext did not change it; try again",
    )


def has_recall(tool: str) -> bool:
    """Return whether recall is on in a tool; False if its settings file cannot be read.

    Recall is a text about earlier decisions that an agent gets when a session starts.
    """
    return find_tool(tool).recall is not None and _is_in_settings(tool, SettingsFile.has_recall)


def has_status_line(tool: str) -> bool:
    """Return whether a tool shows our status line; False if its settings file cannot be read."""
    return find_tool(tool).has_status_line and _is_in_settings(tool, SettingsFile.has_status_line)


def _is_in_settings(tool: str, check: Callable[[SettingsFile, str], bool]) -> bool:
    file = settings_files.hooks_file(tool)
    if file is None:
        return False
    try:
        return check(file, as_text(read_or_none(file.path) or b""))
    except (OSError, ValueError):
        return False  # `doctor` and `setup` report this.


def has_hooks(tool: str) -> bool:
    """Return whether our hooks or plug-in for a tool are installed.

    They capture the messages of the tool automatically.
    """
    plugin, hooks = plugin_of(tool), settings_files.hooks_file(tool)
    place = plugin or hooks
    if place is None:
        return False
    try:
        data = read_or_none(place.path)
    except OSError:
        return False  # `doctor` and `setup` report this.
    if plugin:
        is_current = data == plugin.text()
        return is_current or (
            data is not None and _is_on_record(plugin.path, data, SetupRecord.load())
        )
    return hooks is not None and hooks.has_hooks(as_text(data or b""))


def _is_on_record(path: str, data: bytes, installed: SetupRecord) -> bool:
    """Return whether `data`, the contents of a file, is still what `cortext setup` wrote."""
    return installed.of(path, data).get("digest") == digest(data)


@contextmanager
def _skip_unreadable(tool: str, plan: SetupPlan) -> Generator[None]:
    """Run a `with` block that plans the changes to a file of a tool.

    If the file cannot be read, add a note to the plan instead of raising OSError.
    """
    try:
        yield
    except OSError as error:
        why = reason_of(error)
        plan.notes.append(f"{error.filename} is not changed: {why}")
        plan.left.append(tool)
        plan.failed.append(tool)


def _has_mcp_package() -> bool:
    """Return whether the package that `cortext mcp` needs is installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _plan_hooks(
    tool: str,
    file: SettingsFile,
    installed: SetupRecord,
    plan: SetupPlan,
    *,
    recall: bool | None = None,
    status_line: bool | None = None,
) -> None:
    """Add our hooks and our MCP server to the plan for a tool's settings file.

    `recall` turns recall on or off; None leaves it as it is in the file. `status_line` does the
    same for our status line.
    """
    path = file.path
    old = read_or_none(path)
    text = as_text(old or b"")
    skipped = [] if _has_mcp_package() else [settings_files.ENTRY]
    try:
        if file.is_complete(text, skipped):
            return
        before = _without_our_entries(file, text, installed)
        recall = file.has_recall(text) if recall is None else recall
        if status_line is None:
            status_line = file.has_status_line(text)
        elif status_line and file.has_foreign_status_line(text):
            plan.notes.append(
                f"{path} keeps your own status line; to see the costs there too, let its command "
                "also run `cortext statusline` with the same standard input"
            )
        edited = file.with_hooks(before, but=skipped, recall=recall, status_line=status_line)
    except ValueError as error:
        conflict = file.explain_conflict(text)
        plan.notes.append(f"{path} is not changed: {error}{conflict}")
        plan.left.append(tool)
        plan.failed.extend([] if conflict else [tool])
        return
    new = as_bytes(edited.text)
    if new != old:
        record = {"digest": digest(new), "steps": edited.steps, "made": edited.made}
        is_new = old is None or installed.of(path).get("new") is True
        plan.changes.append(FileChange(tool, path, old, new, {**record, "new": is_new}))


def _plan_hooks_removal(
    tool: str, file: SettingsFile, installed: SetupRecord, plan: SetupPlan
) -> None:
    path = file.path
    old = read_or_none(path)
    if old is None:
        return
    try:
        before = as_bytes(_without_our_entries(file, as_text(old), installed))
    except ValueError as error:
        plan.notes.append(f"{path} is not changed: {error}")
        return
    if before == old:
        plan.gone.extend([path] if installed.of(path) else [])
    else:
        empty = b"".join(before.split()) in (b"", b"{}")
        is_obsolete = empty and installed.of(path).get("new") is True
        plan.changes.append(FileChange(tool, path, old, None if is_obsolete else before))


def _without_our_entries(file: SettingsFile, text: str, installed: SetupRecord) -> str:
    """Return the text of a settings file without the entries of cortext.

    If nobody changed the file after `cortext setup`, the result is exactly the text that the file
    had before the setup.
    """
    record = installed.of(file.path, as_bytes(text))
    if record.get("digest") == digest(as_bytes(text)):
        before = _undo_steps(file, text, record.get("steps"))
        if before is not None:
            return before
    made: Any = record.get("made")
    paths_made = [each for each in made if _is_made_by_setup(each)] if _is_paths(made) else []
    return file.without_hooks(text, paths_made)


def _undo_steps(file: SettingsFile, text: str, steps: Any) -> str | None:
    """Undo the recorded steps of `cortext setup`, and return the text from before the setup.

    `text` is the current text of the file. Anybody can edit the record, so the result is checked:
    repeating the setup on the result must give `text` again. Return None if the check fails.
    """
    try:
        before = settings_files.undone(text, steps)
        missing = file.missing(text)
        again = file.with_hooks(
            before,
            but=missing,
            recall=file.has_recall(text),
            status_line=file.has_status_line(text),
        )
        return before if again.text == text else None
    except (TypeError, ValueError, LookupError):
        return None


def _is_made_by_setup(path: list[Any]) -> bool:
    return bool(path) and path[0] in settings_files.MADE


def _is_paths(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(path, list) for path in cast("list[Any]", value)
    )


def _plan_commands(
    tool: str, commands: SlashCommands, installed: SetupRecord, plan: SetupPlan
) -> None:
    for command in COMMANDS:
        path = os.path.join(commands.user_folder(), commands.file_name(command))
        with _skip_unreadable(tool, plan):
            old = read_or_none(path)
            new = commands.file_text(command, as_text(old or b"")).encode()
            _plan_file(tool, path, old, new, installed, plan)


def _plan_file(
    tool: str, path: str, old: bytes | None, new: bytes, installed: SetupRecord, plan: SetupPlan
) -> None:
    """Plan to write a file that belongs completely to cortext.

    Plan nothing if the user changed the file or put a link in its place.
    """
    if old == new:
        return
    if os.path.islink(path) or (old is not None and not _is_on_record(path, old, installed)):
        plan.notes.append(
            f"{path} is not replaced, because setup did not write it or you changed it; "
            "delete it to get the new version"
        )
        return
    plan.changes.append(FileChange(tool, path, old, new, {"digest": digest(new)}))


def _plan_plugin(tool: str, plugin: Plugin, installed: SetupRecord, plan: SetupPlan) -> None:
    path = plugin.path
    with _skip_unreadable(tool, plan):
        _plan_file(tool, path, read_or_none(path), plugin.text(), installed, plan)
    if any(change.path == path and change.old is None for change in plan.changes):
        plan.notes.append(plugin.note)


def _plan_commands_removal(
    tool: str, commands: SlashCommands, installed: SetupRecord, plan: SetupPlan
) -> None:
    for command in COMMANDS:
        path = os.path.join(commands.user_folder(), commands.file_name(command))
        expected = partial(_expected_command_file, commands, command)
        _plan_file_removal(tool, path, expected, installed, plan)


def _expected_command_file(commands: SlashCommands, command: SlashCommand, old: bytes) -> bytes:
    return commands.file_text(command, as_text(old)).encode()


def _plan_file_removal(
    tool: str,
    path: str,
    expected: Callable[[bytes], bytes],
    installed: SetupRecord,
    plan: SetupPlan,
) -> None:
    old = None
    with _skip_unreadable(tool, plan):
        old = read_or_none(path)
    if old is None:
        return
    if _is_on_record(path, old, installed) or old == expected(old):
        plan.changes.append(FileChange(tool, path, old, None, whole=True))
    else:
        plan.notes.append(
            f"{path} is not removed, because setup did not write it or you changed it"
        )
