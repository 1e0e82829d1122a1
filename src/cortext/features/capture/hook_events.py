"""Hooks: the work of the command `cortext hook`, which AI tools run when something happens.

A hook records the process of the session, so that the session is known to be live. If the session
is bound to a conversation, the hook captures its new messages. If another conversation of the
workspace is idle, the hook starts a process that pauses that conversation. The tool waits for the
hook, so slow work is done in other processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.config import Config
from cortext.durability.read_files import read_tail
from cortext.features.capture.agent_config import (
    find_config,
    forget_model,
    note_config,
    remember_model,
)
from cortext.features.capture.bindings import ConversationRef, find_binding, is_bound, row_of
from cortext.features.capture.capture import capture
from cortext.features.capture.pending_bindings import (
    find_pending,
    resolve_pending,
    resolve_pending_by_content,
)
from cortext.features.errors_log import write_error
from cortext.features.manage.auto_pause import start_pausing
from cortext.model import json_codec
from cortext.model.closing_phrases import is_closing
from cortext.stores.folder import FolderStore
from cortext.tools.registry import find_tool
from cortext.tools.running_sessions import forget_running, note_running, tool_process
from cortext.tools.system_processes import Process
from cortext.workspace.idle_conversations import find_idle
from cortext.workspace.workspace import Workspace

_PATIENCE = 0.08
"""Seconds to wait for the last answer.

Some tools call the hook before they write the answer to the transcript.
"""
_SAVED_CONTEXT = (
    "The user is leaving. cortext has saved and paused this conversation. "
    "Confirm this in one line and do nothing else."
)
_SAVED_MESSAGE = "The conversation is saved and paused. Continue it with `cortext resume`."
_START_EVENTS = ("SessionStart", "session.created")
"""The names of the events that tools report when a session begins."""


class HookCall(msgspec.Struct, frozen=True):
    """One call of `cortext hook`, in the same form for all tools. Unknown values are "".

    `id` is the tool's session id, and `path` is the path of the transcript. `prompt` is the last
    message of the user, and `answer` is the last message of the model. `source` is the reason why
    the session starts, such as "clear".
    """

    tool: str
    event: str
    id: str
    path: str
    prompt: str
    answer: str
    cwd: str
    model: str
    source: str


def hook(tool: str, event: str, payload: dict[str, Any], *, recall: bool = False) -> dict[str, Any]:
    """Handle an event of a tool session, and return the JSON answer for the tool, or {}.

    `payload` is the JSON object that the tool passes to the hook. If `recall` is true, the answer
    at the start of a session tells the agent the last decisions and the open points of earlier
    conversations in the same project.
    """
    call = read_call(tool, event, payload)
    if not call.id:
        return {}
    process = tool_process(tool)
    if call.event == "SessionEnd":
        forget_running(tool, call.id)
    elif process:
        note_running(tool, call.id, process)
    with _log_failure("saving the model of a session"):
        _store_model(call)
    ref = _find_conversation(call, process)
    if ref and (call.model or call.event in _START_EVENTS):
        with _log_failure("saving the model and the MCP servers"):
            known = find_config(call.tool, model=call.model, cwd=call.cwd)
            note_config(Workspace(ref.root), ref.place, known)
    answer = _handle_event(call, ref) if ref else {}
    if recall and not answer:
        with _log_failure("recalling earlier conversations"):
            answer = _recall(call, process)
    with _log_failure("pausing idle conversations"):
        _pause_idle(call, ref)
    return answer


@contextmanager
def _log_failure(doing: str) -> Generator[None]:
    """Catch and log any error in the `with` block, because the hook must still do its other work.

    `doing` describes the work of the block for the log.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001  any error
        write_error(doing, error)


def _store_model(call: HookCall) -> None:
    """Store the model that the hook call names. Delete the stored model when the session ends."""
    if call.event == "SessionEnd":
        forget_model(call.tool, call.id)
    elif call.model:
        remember_model(call.tool, call.id, call.model)


def _find_conversation(call: HookCall, process: Process | None) -> ConversationRef | None:
    """Return the conversation of the session that called the hook, or None.

    `process` is the tool's process. A pending binding belongs to a process until the id of the
    session is known. If the session is not bound yet, and a conversation has a pending binding to
    `process`, bind the session to that conversation.
    """
    ref = find_binding(call.tool, call.id, call.cwd, refresh=call.event in _START_EVENTS)
    if ref or process is None:
        return ref
    if not find_tool(call.tool).has_shared_process:
        return resolve_pending(call.tool, call.id, call.path, process)
    # The process has several sessions. Only their transcripts show which session is meant.
    pending = find_pending(call.tool, process)
    if pending is None:
        return None
    resolve_pending_by_content(pending)
    return pending if is_bound(pending, call.tool, call.id) else None


def _pause_idle(call: HookCall, ref: ConversationRef | None) -> None:
    """Start a process that pauses the idle conversations of the workspace, if there are any.

    `ref` is the current conversation; it stays active. Start nothing while the user waits for an
    answer.
    """
    if call.event == "UserPromptSubmit":
        return
    root = ref.root if ref else paths.workspace_root(call.cwd)
    with Catalog.at_home() as catalog:
        rows = catalog.known_rows(root)
    own = ref.path if ref else ""
    others = [row for row in rows if row.status == "active" and row.path != own]
    if not others:
        return
    minutes = float(Config.load(root)["sessions.pause_minutes"])
    if find_idle(others, minutes):
        start_pausing(root, own)


def read_call(tool: str, event: str, payload: dict[str, Any]) -> HookCall:
    """Convert the JSON payload of a hook to a `HookCall`. Each tool has its own field names."""

    def text(*names: str) -> str:
        values = (payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    requests = payload.get("input-messages")
    last = cast("list[Any]", requests)[-1] if isinstance(requests, list) and requests else ""
    return HookCall(
        tool,
        event,
        text("session_id", "thread-id", "thread_id"),
        text("transcript_path"),
        text("prompt") or (last if isinstance(last, str) else ""),
        text("last_assistant_message", "last-assistant-message"),
        text("cwd") or os.getcwd(),
        text("model"),
        text("source"),
    )


def _handle_event(call: HookCall, ref: ConversationRef) -> dict[str, Any]:
    """Capture new messages, or stop the conversation if the user says goodbye.

    Return the JSON answer for the tool.
    """
    if not find_tool(call.tool).hook_sends_prompt:
        new = capture(ref.root, ref.place).new
        if new and is_closing(_last_request(ref, new)) and not _is_completed(ref):
            _stop(ref)
        return {}
    closing = bool(call.prompt) and is_closing(call.prompt) and not _is_completed(ref)
    if call.event == "UserPromptSubmit":
        if not closing:
            capture(ref.root, ref.place)
            return {}
        _stop(ref)
        output = {"hookEventName": call.event, "additionalContext": _SAVED_CONTEXT}
        return {"hookSpecificOutput": output}
    if call.event == "Stop" and call.answer:
        _await_answer(call.path, call.answer)
    if closing:  # the tool calls hooks only after the answer
        _stop(ref)
        return {"systemMessage": _SAVED_MESSAGE} if find_tool(call.tool).hook_shows_message else {}
    capture(ref.root, ref.place)
    return {}


def _recall(call: HookCall, process: Process | None) -> dict[str, Any]:
    """Return the answer that tells an agent about earlier conversations, or {}.

    The tool decides at which event and for which sessions it accepts such an answer. The answer is
    {} in all other cases, or if there is nothing to tell. `process` is the tool's process, or None.
    """
    tool = find_tool(call.tool)
    if call.event != tool.recall_event or not tool.recall:
        return {}
    if not tool.load("recall")(call.source, process.arguments if process else ()):
        return {}
    # Import late: few events need a recall, and this import takes as long as two bare starts.
    from cortext.features.recall.session_recall import make_recall

    text = make_recall(call.tool, call.cwd, call.path)
    output = {"hookEventName": call.event, "additionalContext": text}
    return {"hookSpecificOutput": output} if text else {}


def _last_request(ref: ConversationRef, new: int) -> str:
    """Return the last request of the user in the last `new` messages, or ""."""
    last = FolderStore(ref.root).tail(ref.path, new)
    return next((m.content for m in reversed(last) if m.role == "user"), "")


def _is_completed(ref: ConversationRef) -> bool:
    return FolderStore(ref.root).head_at(ref.place).status == "completed"


def _stop(ref: ConversationRef) -> None:
    """Stop the conversation as `cortext stop` does."""
    # Import late: few events stop a conversation, and git and the archive take 6 ms to load.
    from cortext.features.manage.stop_conversation import stop

    stop(row_of(ref), summary=None)


def _await_answer(path: str, answer: str) -> None:
    """Wait a moment until the transcript at `path` contains `answer`, the model's last message.

    If the answer comes too late, it is captured later. The next hook captures it, or the next
    command that shows the conversation does so.
    """
    end = json_codec.encode(answer[-200:])[1:-1]
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            if end in read_tail(path, 1 << 16):
                return
        except (OSError, ValueError):
            return  # the capture reports the error
        time.sleep(0.005)
