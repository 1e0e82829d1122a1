"""Reopening a conversation in a tool: which tool, in which way, and what was said there after.

The best way first: natively, if the tool still has the session with all of the conversation in
it; as a new session of the tool, converted; with a briefing, which the tool asks us for.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cortext import clock, paths
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.config import Config
from cortext.errors import CortextError
from cortext.features.capture.bindings import bind
from cortext.features.capture.transcripts import own_transcript
from cortext.features.resume.agent_briefing import (
    WAS_COMPLETE,
    Briefing,
    brief,
    configured_servers,
    why_fixed,
)
from cortext.features.resume.native_sessions import Native, find_native, head_of
from cortext.features.resume.resume_checks import branch, last_used, refuse_live
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

if TYPE_CHECKING:
    from cortext.tools.writer_protocol import Written

_log = logging.getLogger("cortext.features")
_ENOUGH = 100_000  # characters of a result, of which a stub shows the end


class Prepared(NamedTuple):
    """All that is to be done to reopen a conversation. `way` is native, fork, converted or
    briefing; `id` is the tool's session, "" for one that it will make."""

    way: str
    plan: LaunchPlan
    id: str
    row: ConversationRow
    notes: list[str]
    file: str = ""


class ToolChoice(NamedTuple):
    """The tool to take, or "" and those that a person may choose from."""

    tool: str
    among: list[str]
    notes: list[str]


def choose_tool(row: ConversationRow, wanted: str = "") -> ToolChoice:
    """The one that is wanted, else the last one that it was had in, else the workspace's default,
    else the only one that is installed. ToolMissingError if what is wanted is not there."""
    if wanted:
        require(wanted)
        return ToolChoice(wanted, [], [])
    there, notes = installed(), list[str]()
    root = paths.workspace_root(row.workspace or row.working_dir or None)
    default = str(Config.load(root)["resume.tool"])
    for tool in (last_used(row), "" if default == "ask" else default):
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
    """Make ready to go on with a conversation in a tool. What has to be written for it is
    written; the tool is not started. LiveError if it is open elsewhere and no fork is wanted: a
    fork of a conversation is a conversation of its own."""
    require(tool)
    if not row.tool:
        _take_in(row)
    if not fork:
        refuse_live(row)
    found = find_native(row, tool)
    notes = [] if row.tool else _warnings(row, tool)
    if fork and not row.tool:
        row = branch(row)
        notes.append(f"the copy is {row.key}")
    if found and fork and (done := _forked(row, tool, found, extra, notes)):
        return done
    if found and not fork and not _lacks_opening(row, tool, found):
        return _natively(row, tool, found, extra, notes)
    if row.tool and not fork:
        before, row = row, adopt(row)
        where = " in your personal workspace" if row.workspace == paths.personal_workspace() else ""
        notes += [f"it is kept as {row.key}{where} from now on", *_goes_on(before)]
        notes += _warnings(row, tool)
    return _converted(row, tool, budget, fork, extra, notes)


def finish(prepared: Prepared) -> int:
    """After the tool has ended: take in what was said in it; how many messages that is."""
    _remove(prepared.file)
    return 0 if prepared.row.tool else _take_in(prepared.row)


def write_copy(
    row: ConversationRow, tool: str, *, cwd: str, budget: int, last: str = ""
) -> Written:
    """The conversation as a new session of a tool. CortextError if it has nothing to say, or the
    tool's own reader does not find it again."""
    from cortext.features.listing.load_row import read
    from cortext.tools.writer_protocol import open_writer, turns_of

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
    """The folder to reopen a conversation in, and what there is to say about it. That of a
    workspace is in the workspace, wherever it is now."""
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
    """A session that belongs to no conversation becomes one: of the workspace that it was had in,
    else of the personal one."""
    from cortext.features.manage.adopt import as_conversation

    # At rest, as it is: it goes on when the tool is started, which may be never.
    return as_conversation(row, at_rest=True)


def _natively(
    row: ConversationRow, tool: str, found: Native, extra: Sequence[str], notes: list[str]
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
    """Copy a tool's transcripts to the archive before the tool is started."""
    from cortext.features.archive.archive_sync import sync

    try:
        sync(tools=[tool], wait=10.0)
    except CortextError as error:
        _log.info("no copy was made before %s is started: %s", tool, error)


def _forked(
    row: ConversationRow, tool: str, found: Native, extra: Sequence[str], notes: list[str]
) -> Prepared | None:
    """In the tool's own copy, where we may say which id it gets."""
    id = new_id()
    command = _command(row, tool, found.cwd)
    plan = fork_plan(tool, found.id, new=id, cwd=found.cwd, command=command, extra=extra)
    if plan is None:
        return None
    _bind(row, tool, id, cwd=found.cwd)
    return Prepared("fork", plan, id, row, notes)


def _converted(
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
        return _briefed(row, tool, cwd, budget, extra, notes)
    _bind(row, tool, written.id, written.path, cwd=cwd)
    plan = resume_plan(tool, written.id, cwd=cwd, command=command, instructions=file, extra=extra)
    return Prepared("fork" if fork else "converted", plan, written.id, row, notes, file)


def _briefed(
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


def _lacks_opening(row: ConversationRow, tool: str, found: Native) -> bool:
    """Whether the tool could not be told of the conversation's command in this session."""
    if row.tool or not head_of(row).command:
        return False
    return not launcher_of(tool).knows_briefing(found.path)


def _command(row: ConversationRow, tool: str, cwd: str) -> str:
    """The slash command to begin with, where the tool has it."""
    if row.tool or not launcher_of(tool).takes_command or not has_command(tool, cwd):
        return ""
    return f"/workspace.resume {row.key}"


def _goes_on(row: ConversationRow) -> list[str]:
    """A program knows nothing of the conversation that was made of its session."""
    if row.tool != DOCUMENT:
        return []
    later = f"`cortext import {row.key}` brings over what is said there later"
    return [f"the program still writes to {row.key}: {later}"]


def _warnings(row: ConversationRow, tool: str) -> list[str]:
    """What the person should know before it goes on in a tool. That it was complete was asked
    about."""
    found = [*_brief(row, tool).warnings, why_fixed(row)]
    return [f"warning: {warning}" for warning in found if warning not in ("", WAS_COMPLETE)]


def _brief(row: ConversationRow, tool: str, budget: int = 0) -> Briefing:
    """Return the briefing for an agent of a tool; with a budget of 0, without the history."""
    servers = partial(configured_servers, row, tool, folder_for(row)[0])
    return brief(row, budget=budget, servers=servers, with_history=budget > 0)


def _opening(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """Return warnings and briefing as text, for an agent that no slash command tells them to."""
    found = _brief(row, tool, budget)
    said = [clean(warning, lines=False) for warning in found.warnings if warning != WAS_COMPLETE]
    warnings = [f"Warning: {warning}" for warning in said]
    parts = ("\n".join(warnings), found.opening, found.history)
    return "\n\n".join(part for part in parts if part)


def _instructions(row: ConversationRow, tool: str, budget: int = 0) -> str:
    """A file for a tool to read: a briefing, of which the history only if it has a budget."""
    from cortext.durability.replace_file import storage_errors, write_new
    from cortext.features.resume.handoff_files import INSTRUCTIONS, folder_of, make_room

    path = os.path.join(folder_of(INSTRUCTIONS), f"{new_id()}.md")
    text = _opening(row, tool, budget)
    with storage_errors("write", path):
        make_room(INSTRUCTIONS)
        write_new(path, [text.encode("utf-8", "replace")])
    return path


def _remove(file: str) -> None:
    """Instructions that nobody reads any more."""
    if file:
        from cortext.durability.replace_file import remove_if_there

        remove_if_there(file)


def _take_in(row: ConversationRow) -> int:
    from cortext.features.capture.capture import capture

    return 0 if why_fixed(row) else capture(row.workspace, row.place).new


def _bind(row: ConversationRow, tool: str, id: str, path: str = "", *, cwd: str) -> None:
    """Bind a session that begins now in `cwd` to a conversation, if that can be written."""
    if not row.tool and not why_fixed(row):
        bind(row, tool, id, path, after=record_dicts.iso(clock.now().astimezone(UTC)), cwd=cwd)
