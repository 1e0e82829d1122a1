"""What happens when a tool calls one of our hooks.

The session's process is written down, so that it is known to be live. Where the session is bound
to a conversation, what was said is captured; where it is not, nothing else happens, and next to
nothing is imported: the tool waits.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cortext import paths
from cortext.bridges.live import forget_running, note_running, tool_process

if TYPE_CHECKING:
    from cortext.app.binding import Bound
    from cortext.bridges.processes import Process
    from cortext.index.listed import Listed

_PATIENCE = 0.08
"""Seconds that a last answer may take to reach the transcript: Claude Code writes it after it
has called us, or before."""
_SAVED = (
    "The person is leaving. cortext has saved this conversation and paused it. "
    "Confirm that in one line, and do nothing else."
)
_SHOWN = "The conversation is saved and paused; `cortext resume` goes on with it."


class Call(NamedTuple):
    """A call of a hook, told alike for all tools."""

    tool: str
    event: str
    id: str
    path: str
    prompt: str
    answer: str
    cwd: str


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
    found = _bound(call, process)
    return _told(call, found) if found else {}


def _bound(call: Call, process: Process | None) -> Bound | None:
    rows = _had_in(call)
    if rows:
        from cortext.app.binding import Bound, is_bound, one_of

        found = [Bound(row.root, row.place) for row in rows]
        found = [one for one in found if is_bound(one, call.tool, call.id)]
        if found:
            return one_of(found, call.id, call.cwd)
    if process and os.path.isdir(os.path.join(paths.running(), "waiting")):
        from cortext.app.waiting import settle

        return settle(call.tool, call.id, call.path, process)
    return None


def _had_in(call: Call) -> list[Listed]:
    """The conversations that were had in a session, the latest first; also those of a workspace
    that was moved here."""
    from cortext.index.catalog import Catalog
    from cortext.lifecycle.known import known_workspaces

    here = paths.workspace_root(call.cwd)
    roots = dict.fromkeys(root for root in (*known_workspaces(), here) if os.path.isdir(root))
    with Catalog.at_home() as catalog:
        rows = catalog.list(list(roots))
    return [row for row in rows if call.id in row.text and call.id in row.native]


def read_call(tool: str, event: str, payload: dict[str, Any]) -> Call:
    """The facts of a call, under the names that each tool has for them."""

    def text(*names: str) -> str:
        values = (payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    asked = payload.get("input-messages")
    last = cast("list[Any]", asked)[-1] if isinstance(asked, list) and asked else ""
    return Call(
        tool,
        event,
        text("session_id", "thread-id", "thread_id"),
        text("transcript_path"),
        text("prompt") or (last if isinstance(last, str) else ""),
        text("last_assistant_message", "last-assistant-message"),
        text("cwd") or os.getcwd(),
    )


def _told(call: Call, found: Bound) -> dict[str, Any]:
    from cortext.app.capture import capture

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
        return {"systemMessage": _SHOWN} if call.tool == "gemini" else {}
    capture(found.root, found.place)
    return {}


def _is_closing(prompt: str) -> bool:
    from cortext.model.closing import is_closing

    return is_closing(prompt)


def _is_completed(found: Bound) -> bool:
    """Whether there is nothing left to stop."""
    from cortext.lifecycle.workspace import Workspace

    return Workspace(found.root).store.head_at(found.place).status == "completed"


def _stop(found: Bound) -> None:
    """As `cortext stop` does: a person who says so means it."""
    from cortext.app.stop import stop
    from cortext.app.tool_session import row_in_list

    stop(row_in_list(found), summary=None)


def _await(path: str, answer: str) -> None:
    """Give the last answer a moment to be written. What comes later is taken with the next
    event, or whenever somebody looks."""
    from cortext.durability.read import read_tail
    from cortext.model import json

    end = json.encode(answer[-200:])[1:-1]
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            if end in read_tail(path, 1 << 16):
                return
        except (OSError, ValueError):
            return  # what cannot be read is said when it is captured
        time.sleep(0.005)
