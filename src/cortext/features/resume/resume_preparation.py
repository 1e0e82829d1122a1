"""Reopen a conversation in a tool, and capture the new messages after the tool has ended.

There are three ways, the best first:

- native: the tool resumes its own session, if the session has the whole conversation.
- converted: cortext writes the conversation as a new session of the tool.
- briefing: the tool starts a new session, and its agent reads a text about the conversation.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Sequence
from datetime import UTC
from functools import partial

import msgspec

from cortext import clock, paths
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.config import Config
from cortext.durability.durable_files import remove_if_there, storage_errors, write_new
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import sync
from cortext.features.capture.bindings import bind
from cortext.features.capture.capture import capture
from cortext.features.capture.transcripts import own_transcript
from cortext.features.listing.session_of_row import read
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.resume.agent_briefing import (
    WAS_COMPLETE,
    Briefing,
    configured_servers,
    explain_read_only,
    make_briefing,
)
from cortext.features.resume.agent_temp_files import (
    INSTRUCTIONS,
    folder_of,
    prepare_handoff_dir,
)
from cortext.features.resume.resumable_tool_sessions import (
    NativeSession,
    find_native_session,
    head_of,
)
from cortext.features.resume.resume_checks import find_last_tool, fork_row, refuse_live
from cortext.model import message_dicts
from cortext.model.ids import new_id
from cortext.model.safe_text import clean
from cortext.tools.launch_plans import (
    LaunchPlan,
    fork_plan,
    has_command,
    install_hint,
    installed,
    launcher_of,
    require,
    resume_plan,
    start_plan,
)
from cortext.tools.registry import BUILT_IN, display_name
from cortext.tools.writer_protocol import Written, open_writer, turns_of
from cortext.workspace.moved_folders import moved_folders

_log = logging.getLogger("cortext.features")
_MAX_RESULT = 100_000  # characters of a tool result; a longer one is cut in the middle


class Prepared(msgspec.Struct, frozen=True):
    """A conversation that is ready to be reopened in a tool.

    `way` is "native", "converted" or "briefing", or "fork" if a copy is reopened. `plan` is the
    command that starts the tool. `id` is the id of the tool's session, or "" if the tool will
    create the session. `notes` are for the user. `file` is the path of an instructions file, or "".
    This file must be deleted after the tool has ended.
    """

    way: str
    plan: LaunchPlan
    id: str
    row: ConversationRow
    notes: list[str]
    file: str = ""


class ToolChoice(msgspec.Struct, frozen=True):
    """The tool in which to reopen a conversation.

    `tool` is "" if the user must choose. `among` lists the tools from which the user can choose.
    `notes` tell the user which expected tools are not installed.
    """

    tool: str
    among: list[str]
    notes: list[str]


def choose_tool(row: ConversationRow, wanted: str = "") -> ToolChoice:
    """Choose the tool in which to reopen a conversation.

    If `wanted` is given, it is chosen. Otherwise the first of these tools that is installed is
    chosen: the last tool of the conversation, the default tool of the workspace, the only installed
    tool. If there is no such tool, the user must choose. Raises ToolMissingError if `wanted` is not
    installed, and CortextError if no tool is installed.
    """
    if wanted:
        require(wanted)
        return ToolChoice(wanted, [], [])
    available, notes = installed(), list[str]()
    root = paths.workspace_root(row.workspace or row.working_dir or None)
    default = str(Config.load(root)["resume.tool"])
    for tool in (find_last_tool(row), "" if default == "ask" else default):
        if tool in available:
            return ToolChoice(tool, [], _with_other_tool(notes, tool))
        if tool:
            notes.append(f"{tool} is not installed{install_hint(tool)}.")
    if not available:
        raise CortextError(
            "no supported AI tool is installed",
            hint=f"install one, for example with `{BUILT_IN[0].install_command}`, or "
            "use `--context` to print a briefing: a text with the history, for any agent",
        )
    if len(available) == 1:
        return ToolChoice(available[0], available, _with_other_tool(notes, available[0]))
    return ToolChoice("", available, notes)


def _with_other_tool(notes: list[str], tool: str) -> list[str]:
    """Add a note to notes about missing tools: the conversation opens in `tool` instead.

    Return [] if `notes` is empty.
    """
    return [*notes, f"The conversation opens in {display_name(tool)} instead."] if notes else []


def prepare(
    row: ConversationRow,
    tool: str,
    *,
    budget: int,
    fork: bool = False,
    write: bool = True,
    extra: Sequence[str] = (),
) -> Prepared:
    """Write the files that a tool needs to continue a conversation, without starting the tool.

    `budget` limits the history to a number of characters. `extra` holds more command line arguments
    for the tool. If `fork` is true, the tool will continue a copy of the conversation. If it is
    false, raise LiveError if a running tool has the conversation open.

    If `write` is false, change no conversation and write no session. Raise CortextError if the tool
    needs a session that does not exist yet.
    """
    require(tool)
    if write and not row.tool:
        _capture(row)
    if not fork:
        refuse_live(row)
    native = find_native_session(row, tool)
    notes = [] if row.tool else _warnings(row, tool)
    if fork and not row.tool:
        if not write:
            raise needs_write(tool, fork=True)
        row = fork_row(row)
        notes.append(f"The copy is {row.key}.")
    if native and fork and (forked := _prepare_fork(row, tool, native, extra, notes)):
        return forked
    if native and not fork and not _lacks_opening(row, tool, native):
        return _prepare_native(row, tool, native, extra, notes)
    launcher = launcher_of(tool)
    starts_new = _has_no_messages(row) and not launcher.takes_empty_session
    if not write and not (starts_new and launcher.takes_command):
        raise needs_write(tool, fork=fork)
    if starts_new:
        return _prepare_briefing(row, tool, folder_for(row)[0], budget, extra, notes)
    if row.tool and not fork:
        session, row = row, adopt(row)
        where = " in your personal workspace" if row.workspace == paths.personal_workspace() else ""
        why = f"{display_name(tool)} continues this copy, and the original does not change."
        notes += [f"Saved as {row.key}{where}. {why}", *_note_of_program(session)]
        notes += _warnings(row, tool)
    return _prepare_converted(row, tool, budget, fork, extra, notes)


def needs_write(tool: str, *, fork: bool = False) -> CortextError:
    """Return the error for a session that must be written before a tool can resume it.

    With `fork`, the session is a copy of the conversation.
    """
    if fork:
        return CortextError(
            "the copy of this conversation does not exist yet",
            hint="`--print --write` creates the copy and prints the command",
        )
    return CortextError(
        f"{display_name(tool)} cannot resume this conversation yet",
        hint="`--print --write` creates a session for it and prints the command",
    )


def finish(prepared: Prepared) -> int:
    """Delete temporary files and capture new messages after the tool has ended.

    Return the number of new messages.
    """
    _remove_instructions(prepared.file)
    return 0 if prepared.row.tool else _capture(prepared.row)


def write_copy(
    row: ConversationRow, tool: str, *, cwd: str, budget: int, last: str = ""
) -> Written:
    """Write a conversation as a new session of a tool, and return the session's id and file.

    `cwd` is the working folder of the session, and `budget` is its maximum length in characters.
    `last` is the text of one more user turn, which is appended (see `Writer.write`). Raises
    CortextError if the conversation has no messages, or if the new session cannot be read back.
    """
    session, _ = read(row, longest=_MAX_RESULT)
    turns = turns_of(
        session, show=lambda number: f"cortext show {row.key} --message {number}", budget=budget
    )
    if not turns and not (last and launcher_of(tool).takes_empty_session):
        raise CortextError("this conversation has no messages yet")
    written = open_writer(tool).write(turns, cwd=cwd, title=session.title or row.title, last=last)
    found = own_transcript(tool, written.id, written.path)
    reread = found[0].decode(found[1]).session.messages if found else []
    if len(reread) not in (len(turns), len(turns) + bool(last)):
        raise CortextError(f"the session written for {tool} could not be read back")
    return written


def folder_for(row: ConversationRow) -> tuple[str, list[str]]:
    """Return the folder in which to reopen a conversation, and notes for the user.

    For a conversation of a workspace, this is a folder in the workspace, even if the workspace was
    moved. For any other conversation, this is the folder where it took place, or the current folder
    if that folder no longer exists.
    """
    folder = row.working_dir if row.tool else head_of(row).working_dir
    recorded = moved_folders().follow(folder, row.created_at)
    personal = paths.personal_workspace()
    if not row.tool and row.workspace != personal:
        inside = f"{recorded}/".startswith(f"{row.workspace}/") and os.path.isdir(recorded)
        return recorded if inside else row.workspace, []
    if recorded in ("", personal):
        return os.getcwd(), []
    if os.path.isdir(recorded):
        return recorded, []
    current = os.getcwd()
    return current, [f"Original folder {recorded} does not exist; continuing in {current}."]


def adopt(row: ConversationRow) -> ConversationRow:
    """Return the row of a new conversation for a session that belongs to no conversation.

    The conversation is created in the workspace where the session took place. If the session took
    place in no workspace, the conversation is created in the personal workspace.
    """
    # The conversation is created as paused, because the tool may never be started.
    return as_conversation(row, at_rest=True)


def _prepare_native(
    row: ConversationRow, tool: str, found: NativeSession, extra: Sequence[str], notes: list[str]
) -> Prepared:
    launcher = launcher_of(tool)
    if launcher.deletes_resumed:
        _archive_transcripts(tool)
    command = _command(row, tool, found.cwd)
    file = _write_instructions(row, tool) if launcher.takes_instructions and not row.tool else ""
    plan = resume_plan(
        tool, found.id, cwd=found.cwd, command=command, instructions=file, extra=extra
    )
    return Prepared("native", plan, found.id, row, notes, file)


def _archive_transcripts(tool: str) -> None:
    """Copy a tool's transcripts to the archive, because the tool may delete a resumed session."""
    try:
        sync(tools=[tool], wait=10.0)
    except CortextError as error:
        _log.info("could not archive transcripts before %s is started: %s", tool, error)


def _prepare_fork(
    row: ConversationRow, tool: str, found: NativeSession, extra: Sequence[str], notes: list[str]
) -> Prepared | None:
    """Prepare to reopen a conversation in a copy of a tool session.

    `found` is the tool session to copy. The tool makes the copy when it is started. This function
    chooses the id of the copy, binds the copy to the conversation, and returns the command that
    starts the tool. Return None if the tool cannot make a copy with a given id.
    """
    id = new_id()
    command = _command(row, tool, found.cwd)
    plan = fork_plan(tool, found.id, new=id, cwd=found.cwd, command=command, extra=extra)
    if plan is None:
        return None
    _bind_session(row, tool, id, cwd=found.cwd)
    return Prepared("fork", plan, id, row, notes)


def _prepare_converted(
    row: ConversationRow, tool: str, budget: int, fork: bool, extra: Sequence[str], notes: list[str]
) -> Prepared:
    cwd, folder_notes = folder_for(row)
    notes = [*folder_notes, *notes]
    command = "" if row.tool else _command(row, tool, cwd)
    needs_file = launcher_of(tool).takes_instructions and not row.tool
    file = _write_instructions(row, tool) if needs_file else ""
    last = "" if row.tool or command or file else _briefing_text(row, tool)
    try:
        written = write_copy(row, tool, cwd=cwd, budget=budget, last=last)
    except CortextError as error:
        notes.append(f"Could not write a session for {tool}: {error}.")
        _remove_instructions(file)
        return _prepare_briefing(row, tool, cwd, budget, extra, notes)
    _bind_session(row, tool, written.id, written.path, cwd=cwd)
    plan = resume_plan(tool, written.id, cwd=cwd, command=command, instructions=file, extra=extra)
    return Prepared("fork" if fork else "converted", plan, written.id, row, notes, file)


def _prepare_briefing(
    row: ConversationRow, tool: str, cwd: str, budget: int, extra: Sequence[str], notes: list[str]
) -> Prepared:
    command = "" if row.tool else _command(row, tool, cwd) or _briefing_request(row, tool)
    file = _write_instructions(row, tool, budget) if launcher_of(tool).takes_instructions else ""
    plan = start_plan(tool, cwd=cwd, command=command, instructions=file, extra=extra)
    if plan is None:
        raise CortextError(
            " ".join(notes) or f"{tool} cannot start with a briefing",
            hint="to print a briefing, which is a text with the history for any agent: "
            f"`cortext resume --context {row.key}`",
        )
    return Prepared("briefing", plan, "", row, notes, file)


def _has_no_messages(row: ConversationRow) -> bool:
    """Return whether a workspace conversation has no messages and is bound to no tool session."""
    return row.is_empty and not (row.tool or row.bindings)


def _briefing_request(row: ConversationRow, tool: str) -> str:
    """Return a first prompt that asks the agent to read the briefing with a shell command.

    The prompt is for a tool in which the slash command `/workspace.resume` is not installed. Return
    "" if the tool accepts no prompt at its start.
    """
    if not launcher_of(tool).takes_command:
        return ""
    return f"Run `cortext slash briefing {shlex.quote(row.key)}` in a shell and do what it prints."


def _lacks_opening(row: ConversationRow, tool: str, found: NativeSession) -> bool:
    """Return whether a tool session lacks the instructions for its conversation.

    These are the instructions of the slash command that began the conversation. `found` is the tool
    session.
    """
    if row.tool or not head_of(row).command:
        return False
    return not launcher_of(tool).knows_briefing(found.path)


def _command(row: ConversationRow, tool: str, cwd: str) -> str:
    """Return the slash command that the tool runs at its start, which reads the briefing.

    Return "" if the tool cannot run a slash command at its start, or if cortext's slash commands
    are not installed.
    """
    if row.tool or not launcher_of(tool).takes_command or not has_command(tool, cwd):
        return ""
    return f"/workspace.resume {row.key}"


def _note_of_program(row: ConversationRow) -> list[str]:
    """Return a note for the user if the user's own program wrote the session; otherwise []."""
    if row.tool != DOCUMENT:
        return []
    later = f"To copy its new messages later: `cortext import {row.key}`"
    return [f"If your program still runs, it continues to write to {row.key}. {later}"]


def _warnings(row: ConversationRow, tool: str) -> list[str]:
    """Return the warnings to show before a conversation is reopened.

    The warning about a completed conversation is left out, because the user has already confirmed.
    """
    found = [*_briefing_of(row, tool).warnings, explain_read_only(row)]
    return [f"warning: {warning}" for warning in found if warning not in ("", WAS_COMPLETE)]


def _briefing_of(row: ConversationRow, tool: str, budget: int = 0) -> Briefing:
    """Return the briefing for an agent of a tool. If `budget` is 0, the briefing has no history."""
    servers = partial(configured_servers, row, tool, folder_for(row)[0])
    return make_briefing(row, budget=budget, servers=servers, with_history=budget > 0)


def _briefing_text(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """Return the warnings and the briefing as one text, for an agent without a slash command."""
    briefing = _briefing_of(row, tool, budget)
    reasons = [
        clean(warning, lines=False) for warning in briefing.warnings if warning != WAS_COMPLETE
    ]
    warnings = [f"Warning: {warning}" for warning in reasons]
    parts = ("\n".join(warnings), briefing.opening, briefing.history)
    return "\n\n".join(part for part in parts if part)


def _write_instructions(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """Write a briefing to a file of instructions for a tool, and return the file's path.

    If `budget` is 0, the briefing has no history.
    """
    path = os.path.join(folder_of(INSTRUCTIONS), f"{new_id()}.md")
    text = _briefing_text(row, tool, budget)
    with storage_errors("write", path):
        prepare_handoff_dir(INSTRUCTIONS)
        write_new(path, [text.encode("utf-8", "replace")])
    return path


def _remove_instructions(file: str) -> None:
    """Delete a file of instructions that is no longer needed."""
    if file:
        remove_if_there(file)


def _capture(row: ConversationRow) -> int:
    return 0 if explain_read_only(row) else capture(row.workspace, row.place).new


def _bind_session(row: ConversationRow, tool: str, id: str, path: str = "", *, cwd: str) -> None:
    """Bind a new tool session, which begins now, to a conversation.

    Do nothing if the conversation is read-only, or if `row` is a tool session.
    """
    if not row.tool and not explain_read_only(row):
        bind(row, tool, id, path, after=message_dicts.iso(clock.now().astimezone(UTC)), cwd=cwd)
