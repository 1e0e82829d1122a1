"""What happens when a tool calls one of our hooks.

The session's process is written down, so that it is known to be live. Where the session is bound
to a conversation, what was said is captured. Where another conversation of the workspace rests, a
process is started that pauses it. The tool waits: whatever takes long is done by others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cortext import paths
from cortext.tools.registry import find_tool
from cortext.tools.running import forget_running, note_running, tool_process

if TYPE_CHECKING:
    from cortext.catalog.row import ConversationRow
    from cortext.features.capture.bindings import Bound
    from cortext.tools.processes import Process

_PATIENCE = 0.08
"""Seconds that a last answer may take to reach the transcript: Claude Code writes it after it
has called us, or before."""
_SAVED = (
    "The person is leaving. cortext has saved this conversation and paused it. "
    "Confirm that in one line, and do nothing else."
)
_SHOWN = "The conversation is saved and paused; `cortext resume` goes on with it."
_STARTS = ("SessionStart", "session.created")
"""The events that begin a session."""


class HookCall(NamedTuple):
    """A call of a hook, told alike for all tools."""

    tool: str
    event: str
    id: str
    path: str
    prompt: str
    answer: str
    cwd: str
    model: str


def hook(tool: str, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Do what an event asks for; what the tool wants to be told, {} for nothing."""
    call = read_call(tool, event, payload)
    if not call.id:
        return {}
    process = tool_process(tool)
    if call.event == "SessionEnd":
        forget_running(tool, call.id)
    elif process:
        note_running(tool, call.id, process)
    with _log_failure("remembering the model of a session"):
        _keep_model(call)
    rows = _rows(call)
    found = _bound(call, process, rows)
    if found and (call.model or call.event in _STARTS):
        with _log_failure("writing the model and the MCP servers"):
            _note_agent(call, found)
    told = _told(call, found) if found else {}
    with _log_failure("letting conversations rest"):
        _let_rest(call, found, rows)
    return told


@contextmanager
def _log_failure(doing: str) -> Generator[None]:
    """Log what fails inside: the hook still captures, and the tool gets its answer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  whatever it is
        from cortext.features.errors_log import write_error

        write_error(doing, error)


def _keep_model(call: HookCall) -> None:
    """Keep the model that a tool names, for the conversation that its session may be bound to."""
    if not call.model and call.event != "SessionEnd":
        return
    from cortext.features.capture.agent_config import forget_model, remember_model

    if call.event == "SessionEnd":
        forget_model(call.tool, call.id)
    else:
        remember_model(call.tool, call.id, call.model)


def _note_agent(call: HookCall, found: Bound) -> None:
    """Write the model and the MCP servers of a session into its conversation, if it lacks them."""
    from cortext.features.capture.agent_config import find_config, note_config
    from cortext.workspace.workspace import Workspace

    known = find_config(call.tool, model=call.model, cwd=call.cwd)
    note_config(Workspace(found.root), found.place, known)


def _bound(call: HookCall, process: Process | None, rows: list[ConversationRow]) -> Bound | None:
    """The conversation that what is said in a session belongs to."""
    had = [row for row in rows if call.id in row.session_ids]
    if had:
        from cortext.features.capture.bindings import Bound, is_bound, one_of

        found = [Bound(row.workspace, row.place) for row in had]
        found = [one for one in found if is_bound(one, call.tool, call.id)]
        if found:
            return one_of(found, call.id, call.cwd)
    if process and os.path.isdir(os.path.join(paths.running(), "waiting")):
        return _waited(call, process)
    return None


def _waited(call: HookCall, process: Process) -> Bound | None:
    """The conversation that waits for the session of this process, if that is this one."""
    from cortext.features.capture.pending_bindings import bound_to_process, settle, settle_by_time

    if not find_tool(call.tool).has_shared_process:
        return settle(call.tool, call.id, call.path, process)
    # A process of it has several sessions: which one waited is in what was said.
    waiting = bound_to_process(call.tool, process)
    if waiting is None:
        return None
    from cortext.features.capture.bindings import is_bound

    settle_by_time(waiting)
    return waiting if is_bound(waiting, call.tool, call.id) else None


def _rows(call: HookCall) -> list[ConversationRow]:
    """The conversations of all workspaces, the latest first; also those of one that was moved
    here."""
    from cortext.catalog.catalog import Catalog
    from cortext.workspace.known_folders import known_workspaces

    here = paths.workspace_root(call.cwd)
    roots = dict.fromkeys(root for root in (*known_workspaces(), here) if os.path.isdir(root))
    with Catalog.at_home() as catalog:
        return catalog.list(list(roots))


def _let_rest(call: HookCall, found: Bound | None, rows: list[ConversationRow]) -> None:
    """See to it that what nobody goes on with in the workspace of this session is paused; not
    while a person waits for an answer."""
    if call.event == "UserPromptSubmit":
        return
    here = found.root if found else paths.workspace_root(call.cwd)
    going_on = found.place if found else None
    active = [row for row in rows if row.status == "active" and row.workspace == here]
    if all(row.place == going_on for row in active):
        return
    from cortext.config import Config
    from cortext.features.manage.auto_pause import let_rest
    from cortext.workspace.inactivity import find_idle

    minutes = float(Config.load(here)["sessions.pause_minutes"])
    if any(row.place != going_on for row in find_idle(active, minutes)):
        let_rest(here, found.path if found else "")


def read_call(tool: str, event: str, payload: dict[str, Any]) -> HookCall:
    """The facts of a call, under the names that each tool has for them."""

    def text(*names: str) -> str:
        values = (payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    asked = payload.get("input-messages")
    last = cast("list[Any]", asked)[-1] if isinstance(asked, list) and asked else ""
    return HookCall(
        tool,
        event,
        text("session_id", "thread-id", "thread_id"),
        text("transcript_path"),
        text("prompt") or (last if isinstance(last, str) else ""),
        text("last_assistant_message", "last-assistant-message"),
        text("cwd") or os.getcwd(),
        text("model"),
    )


def _told(call: HookCall, found: Bound) -> dict[str, Any]:
    from cortext.features.capture.capture import capture

    if not find_tool(call.tool).hook_sends_prompt:
        new = capture(found.root, found.place).new
        if new and _is_closing(_last_request(found, new)) and not _is_completed(found):
            _stop(found)
        return {}
    closing = bool(call.prompt) and _is_closing(call.prompt) and not _is_completed(found)
    if call.event == "UserPromptSubmit":
        if not closing:
            capture(found.root, found.place)
            return {}
        _stop(found)
        told = {"hookEventName": call.event, "additionalContext": _SAVED}
        return {"hookSpecificOutput": told}
    if call.event == "Stop" and call.answer:
        _await(call.path, call.answer)
    if closing:  # a tool that calls us only when the answer is given
        _stop(found)
        return {"systemMessage": _SHOWN} if find_tool(call.tool).hook_shows_message else {}
    capture(found.root, found.place)
    return {}


def _last_request(found: Bound, new: int) -> str:
    """What the person said last among so many new messages."""
    from cortext.workspace.workspace import Workspace

    last = Workspace(found.root).store.tail(found.path, new)
    return next((m.content for m in reversed(last) if m.role == "user"), "")


def _is_closing(prompt: str) -> bool:
    from cortext.model.closing_phrases import is_closing

    return is_closing(prompt)


def _is_completed(found: Bound) -> bool:
    """Whether there is nothing left to stop."""
    from cortext.workspace.workspace import Workspace

    return Workspace(found.root).store.head_at(found.place).status == "completed"


def _stop(found: Bound) -> None:
    """As `cortext stop` does: a person who says so means it."""
    from cortext.features.capture.current_session import row_in_list
    from cortext.features.manage.stop import stop

    stop(row_in_list(found), summary=None)


def _await(path: str, answer: str) -> None:
    """Give the last answer a moment to be written. What comes later is taken with the next
    event, or whenever somebody looks."""
    from cortext.durability.read_files import read_tail
    from cortext.model import json_codec

    end = json_codec.encode(answer[-200:])[1:-1]
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            if end in read_tail(path, 1 << 16):
                return
        except (OSError, ValueError):
            return  # what cannot be read is said when it is captured
        time.sleep(0.005)
