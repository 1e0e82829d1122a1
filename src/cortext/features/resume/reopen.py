"""Reopen a conversation in a tool: choose the tool, prepare it, and capture after it has ended.

There are three ways, the best first:

- native: the tool resumes its own session, if that has the whole conversation.
- converted: cortext writes the conversation as a new session of the tool.
- briefing: the tool starts a new session and reads a text about the conversation.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import NamedTuple

from cortext import clock, paths
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.config import Config
from cortext.durability.replace_file import remove_if_there, storage_errors, write_new
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import sync
from cortext.features.capture.bindings import bind
from cortext.features.capture.capture import capture
from cortext.features.capture.transcripts import own_transcript
from cortext.features.listing.session_of_row import read
from cortext.features.manage.adopt import as_conversation
from cortext.features.resume.agent_briefing import (
    WAS_COMPLETE,
    Briefing,
    configured_servers,
    explain_read_only,
    make_briefing,
)
from cortext.features.resume.handoff_files import (
    INSTRUCTIONS,
    folder_of,
    prepare_handoff_dir,
)
from cortext.features.resume.native_sessions import NativeSession, find_native_session, head_of
from cortext.features.resume.resume_checks import find_last_tool, fork_row, refuse_live
from cortext.model import record_dicts
from cortext.model.ids import new_id
from cortext.model.safe_text import clean
from cortext.tools.launch import (
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
from cortext.tools.registry import BUILT_IN
from cortext.tools.writer_protocol import Written, open_writer, turns_of

_log = logging.getLogger("cortext.features")
_ENOUGH = 100_000  # characters of a result; more are cut to beginning and end


class Prepared(NamedTuple):
    """A conversation that is ready to be reopened in a tool.

    `way` is native, fork, converted or briefing. `plan` is the command that starts the tool. `id`
    is the id of the tool's session, or "" if the tool will create the session. `notes` are for the
    user. `file` is a file of instructions to delete afterwards, or "".
    """

    way: str
    plan: LaunchPlan
    id: str
    row: ConversationRow
    notes: list[str]
    file: str = ""


class ToolChoice(NamedTuple):
    """The chosen tool, or "" if the user must choose a tool of `among`. `notes` say why."""

    tool: str
    among: list[str]
    notes: list[str]


def choose_tool(row: ConversationRow, wanted: str = "") -> ToolChoice:
    """Choose the tool in which to reopen a conversation.

    This is the tool `wanted`, otherwise the last tool of the conversation, otherwise the default of
    the workspace, otherwise the only installed tool. Raises ToolMissingError if `wanted` is not
    installed, and CortextError if no tool is installed.
    """
    if wanted:
        require(wanted)
        return ToolChoice(wanted, [], [])
    there, notes = installed(), list[str]()
    root = paths.workspace_root(row.workspace or row.working_dir or None)
    default = str(Config.load(root)["resume.tool"])
    for tool in (find_last_tool(row), "" if default == "ask" else default):
        if tool in there:
            return ToolChoice(tool, [], notes)
        if tool:
            notes.append(f"{tool} is not installed here{install_hint(tool)}")
    if not there:
        raise CortextError(
            "none of the tools is installed that a conversation can be reopened in",
            hint=f"`{BUILT_IN[0].install_command}` installs one; `--context` prints "
            "what an agent needs",
        )
    return ToolChoice(there[0] if len(there) == 1 else "", there, notes)


def prepare(
    row: ConversationRow, tool: str, *, budget: int, fork: bool = False, extra: Sequence[str] = ()
) -> Prepared:
    """Write the files that a tool needs to continue a conversation, without starting the tool.

    `budget` limits the length of the history. If `fork` is true, a copy of the conversation is
    continued. Otherwise, LiveError is raised if the conversation is open in a running tool. `extra`
    holds more arguments for the tool.
    """
    require(tool)
    if not row.tool:
        _capture(row)
    if not fork:
        refuse_live(row)
    found = find_native_session(row, tool)
    notes = [] if row.tool else _warnings(row, tool)
    if fork and not row.tool:
        row = fork_row(row)
        notes.append(f"the copy is {row.key}")
    if found and fork and (done := _prepare_fork(row, tool, found, extra, notes)):
        return done
    if found and not fork and not _lacks_opening(row, tool, found):
        return _prepare_native(row, tool, found, extra, notes)
    if row.tool and not fork:
        before, row = row, adopt(row)
        where = " in your personal workspace" if row.workspace == paths.personal_workspace() else ""
        notes += [f"it is kept as {row.key}{where} from now on", *_note_of_program(before)]
        notes += _warnings(row, tool)
    return _prepare_converted(row, tool, budget, fork, extra, notes)


def finish(prepared: Prepared) -> int:
    """Clean up and capture after the tool has ended. Return the number of new messages."""
    _remove(prepared.file)
    return 0 if prepared.row.tool else _capture(prepared.row)


def write_copy(
    row: ConversationRow, tool: str, *, cwd: str, budget: int, last: str = ""
) -> Written:
    """Write a conversation as a new session of a tool, and return the session's id and file.

    `cwd` is the working folder of the session, and `budget` limits its length. `last` is one more
    user turn to append, as `Writer.write` defines. Raises CortextError if the conversation has no
    messages, or if the new session cannot be read back.
    """
    session, _ = read(row, longest=_ENOUGH)
    turns = turns_of(
        session, show=lambda number: f"cortext show {row.key} --message {number}", budget=budget
    )
    if not turns and not (last and launcher_of(tool).takes_empty_session):
        raise CortextError("nothing was said in it yet")
    written = open_writer(tool).write(turns, cwd=cwd, title=session.title or row.title, last=last)
    found = own_transcript(tool, written.id, written.path)
    again = found[0].decode(found[1]).session.messages if found else []
    if len(again) not in (len(turns), len(turns) + bool(last)):
        raise CortextError(f"{tool} would not find what was written for it")
    return written


def folder_for(row: ConversationRow) -> tuple[str, list[str]]:
    """Return the folder in which to reopen a conversation, and notes for the user.

    A conversation of a workspace stays in the workspace, even if the workspace was moved. If the
    folder of another conversation no longer exists, the current folder is used.
    """
    said = row.working_dir if row.tool else head_of(row).working_dir
    personal = paths.personal_workspace()
    if not row.tool and row.workspace != personal:
        inside = f"{said}/".startswith(f"{row.workspace}/") and os.path.isdir(said)
        return said if inside else row.workspace, []
    if said in ("", personal):
        return os.getcwd(), []
    if os.path.isdir(said):
        return said, []
    here = os.getcwd()
    return here, [f"{said}, where it was had, is not there: it goes on in {here}"]


def adopt(row: ConversationRow) -> ConversationRow:
    """Create a conversation from a tool session that belongs to no conversation.

    The conversation is in the workspace where the session took place, otherwise in the personal
    workspace. Return its row.
    """
    # Paused, because the tool may never be started.
    return as_conversation(row, at_rest=True)


def _prepare_native(
    row: ConversationRow, tool: str, found: NativeSession, extra: Sequence[str], notes: list[str]
) -> Prepared:
    launcher = launcher_of(tool)
    if launcher.deletes_resumed:
        _keep_copy(tool)
    command = _command(row, tool, found.cwd)
    file = _instructions(row, tool) if launcher.takes_instructions and not row.tool else ""
    plan = resume_plan(
        tool, found.id, cwd=found.cwd, command=command, instructions=file, extra=extra
    )
    return Prepared("native", plan, found.id, row, notes, file)


def _keep_copy(tool: str) -> None:
    """Copy a tool's transcripts to the archive, because the tool may delete a resumed session."""
    try:
        sync(tools=[tool], wait=10.0)
    except CortextError as error:
        _log.info("no copy was made before %s is started: %s", tool, error)


def _prepare_fork(
    row: ConversationRow, tool: str, found: NativeSession, extra: Sequence[str], notes: list[str]
) -> Prepared | None:
    """Prepare a copy of the session that the tool itself makes, or return None if it cannot."""
    id = new_id()
    command = _command(row, tool, found.cwd)
    plan = fork_plan(tool, found.id, new=id, cwd=found.cwd, command=command, extra=extra)
    if plan is None:
        return None
    _bind(row, tool, id, cwd=found.cwd)
    return Prepared("fork", plan, id, row, notes)


def _prepare_converted(
    row: ConversationRow, tool: str, budget: int, fork: bool, extra: Sequence[str], notes: list[str]
) -> Prepared:
    cwd, said = folder_for(row)
    notes = [*notes, *said]
    command = "" if row.tool else _command(row, tool, cwd)
    instructs = launcher_of(tool).takes_instructions and not row.tool
    file = _instructions(row, tool) if instructs else ""
    last = "" if row.tool or command or file else _opening(row, tool)
    try:
        written = write_copy(row, tool, cwd=cwd, budget=budget, last=last)
    except CortextError as error:
        notes.append(f"not as a session of {tool}: {error}")
        _remove(file)
        return _prepare_briefing(row, tool, cwd, budget, extra, notes)
    _bind(row, tool, written.id, written.path, cwd=cwd)
    plan = resume_plan(tool, written.id, cwd=cwd, command=command, instructions=file, extra=extra)
    return Prepared("fork" if fork else "converted", plan, written.id, row, notes, file)


def _prepare_briefing(
    row: ConversationRow, tool: str, cwd: str, budget: int, extra: Sequence[str], notes: list[str]
) -> Prepared:
    command = "" if row.tool else _command(row, tool, cwd)
    file = _instructions(row, tool, budget) if launcher_of(tool).takes_instructions else ""
    plan = start_plan(tool, cwd=cwd, command=command, instructions=file, extra=extra)
    if plan is None:
        raise CortextError(
            "; ".join(notes) or f"{tool} cannot be told of it",
            hint=f"`cortext resume --context {row.key}` prints what an agent needs",
        )
    return Prepared("briefing", plan, "", row, notes, file)


def _lacks_opening(row: ConversationRow, tool: str, found: NativeSession) -> bool:
    """Return whether a resumed session cannot get the command text of its conversation."""
    if row.tool or not head_of(row).command:
        return False
    return not launcher_of(tool).knows_briefing(found.path)


def _command(row: ConversationRow, tool: str, cwd: str) -> str:
    """Return the slash command that the tool runs first, or "" if the tool has no such command."""
    if row.tool or not launcher_of(tool).takes_command or not has_command(tool, cwd):
        return ""
    return f"/workspace.resume {row.key}"


def _note_of_program(row: ConversationRow) -> list[str]:
    """Return a note if the session is a document that another program still writes."""
    if row.tool != DOCUMENT:
        return []
    later = f"`cortext import {row.key}` brings over what is said there later"
    return [f"the program still writes to {row.key}: {later}"]


def _warnings(row: ConversationRow, tool: str) -> list[str]:
    """Return warnings for the user before a conversation is reopened.

    The warning about a completed conversation is left out, because the user has confirmed it.
    """
    found = [*_brief(row, tool).warnings, explain_read_only(row)]
    return [f"warning: {warning}" for warning in found if warning not in ("", WAS_COMPLETE)]


def _brief(row: ConversationRow, tool: str, budget: int = 0) -> Briefing:
    """Return the briefing for an agent of a tool. If `budget` is 0, it has no history."""
    servers = partial(configured_servers, row, tool, folder_for(row)[0])
    return make_briefing(row, budget=budget, servers=servers, with_history=budget > 0)


def _opening(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """Return the warnings and the briefing as one text, for an agent without a slash command."""
    found = _brief(row, tool, budget)
    said = [clean(warning, lines=False) for warning in found.warnings if warning != WAS_COMPLETE]
    warnings = [f"Warning: {warning}" for warning in said]
    parts = ("\n".join(warnings), found.opening, found.history)
    return "\n\n".join(part for part in parts if part)


def _instructions(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """Write a briefing to a file of instructions for a tool, and return the file's path.

    If `budget` is 0, the briefing has no history.
    """
    path = os.path.join(folder_of(INSTRUCTIONS), f"{new_id()}.md")
    text = _opening(row, tool, budget)
    with storage_errors("write", path):
        prepare_handoff_dir(INSTRUCTIONS)
        write_new(path, [text.encode("utf-8", "replace")])
    return path


def _remove(file: str) -> None:
    """Delete a file of instructions that is no longer needed."""
    if file:
        remove_if_there(file)


def _capture(row: ConversationRow) -> int:
    return 0 if explain_read_only(row) else capture(row.workspace, row.place).new


def _bind(row: ConversationRow, tool: str, id: str, path: str = "", *, cwd: str) -> None:
    """Bind a session that begins now to a conversation, unless the conversation is read-only."""
    if not row.tool and not explain_read_only(row):
        bind(row, tool, id, path, after=record_dicts.iso(clock.now().astimezone(UTC)), cwd=cwd)
