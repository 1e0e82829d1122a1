"""Binding: which part of which tool session is a workspace conversation.

An entry of a head's `native` is {tool, session_id, path, from, to}. What was said after `from` and
not after `to` belongs to the conversation; "" is the beginning, or no end yet. Both are times; a
`from` that is none is the id of the last message before.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cortext import clock
from cortext.app.transcripts import Found, find_transcript
from cortext.bridges.registry import BRIDGES
from cortext.errors import CortextError, SessionStorageError
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model import wire
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.values import parse_time
from cortext.stores.layout import Place

Entry = dict[str, Any]


class Bound(NamedTuple):
    """A conversation, and where it is."""

    root: str
    place: Place


def bind(
    conversation: Listed | Bound,
    tool: str,
    session_id: str,
    path: str = "",
    *,
    after: str | None = None,
) -> None:
    """From now on what is said in a tool session belongs to a conversation; bound already:
    nothing changes. `after` is where it begins, "" for all of it, a time, or the id of the last
    message before; else it is where the exchange begins that is going on now. Another conversation
    that was had in that session ends there."""
    if tool not in BRIDGES:
        raise CortextError(f"there is no tool {tool}", hint=f"one of {', '.join(BRIDGES)}")
    root, place = conversation.root, conversation.place
    workspace = Workspace(root)
    if any(_is_open(e, tool, session_id) for e in workspace.store.head_at(place).native):
        return
    others = [b for b in bound_to(session_id) if b.place != place and is_bound(b, tool, session_id)]
    found = find_transcript(tool, session_id, path)
    now = wire.iso(clock.now())
    start = (_now_of(found) or (now if others else "")) if after is None else after
    for other in others:
        _end(other, tool, session_id, start or now)
    entry = {"tool": tool, "session_id": session_id, "path": found[1].path if found else path}
    add_entry(workspace, place, {**entry, "from": start, "to": ""})


def bound(tool: str, session_id: str) -> Bound | None:
    """The conversation that what is said now in a tool session belongs to."""
    found = [each for each in bound_to(session_id) if is_bound(each, tool, session_id)]
    return found[0] if found else None


def bound_to(session_id: str) -> list[Bound]:
    """Every conversation that was had in a tool session, the latest first."""
    from cortext.index.catalog import Catalog
    from cortext.lifecycle.known import known_workspaces

    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(roots)
    return [Bound(row.root, row.place) for row in rows if session_id in row.native]


def within(entry: Entry, messages: Sequence[SessionMessage]) -> list[SessionMessage]:
    """Those of a session's messages that an entry makes a conversation's own."""
    start, end = str(entry.get("from") or ""), str(entry.get("to") or "")
    kept = list(messages)
    if start:
        when = _time(start)
        if when is None:
            at = next((n for n, m in enumerate(kept, 1) if m.id == start), 0)
            kept = kept[at:]
        else:
            kept = [message for message in kept if message.timestamp > when]
    if end and (until := _time(end)):
        kept = [message for message in kept if message.timestamp <= until]
    return kept


def start_of_exchange(messages: Sequence[SessionMessage]) -> str:
    """The time after which the exchange begins that is going on; "" for all of them.

    If the last answer is complete, the next request is not written yet: tools write it when
    what it runs has run.
    """
    if not messages:
        return ""
    last = messages[-1]
    if last.role in ("assistant", "system") and not last.tool_calls:
        return wire.iso(last.timestamp)
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    return wire.iso(messages[asked[-1] - 1].timestamp) if asked and asked[-1] else ""


def _now_of(found: Found | None) -> str:
    if found is None:
        return ""
    bridge, source = found
    try:
        return start_of_exchange(bridge.decode(source, longest=1000).session.messages)
    except FileNotFoundError:
        return ""


def add_entry(workspace: Workspace, place: Place, entry: Entry) -> None:
    """One more entry of a head's `native`."""

    def change(session: Session) -> bool:
        session.native = [*session.native, entry]
        session.agent = session.agent or str(entry["tool"])
        return False

    workspace.change(place, change)


def _end(other: Bound, tool: str, session_id: str, at: str) -> None:
    """Another conversation begins in a session: this one has what was said before."""

    def change(session: Session) -> bool:
        for entry in session.native:
            if _is_open(entry, tool, session_id):
                entry["to"] = at
        return False

    Workspace(other.root).change(other.place, change)


def is_bound(bound: Bound, tool: str, session_id: str) -> bool:
    """Whether what is said now in a tool session belongs to this conversation."""
    try:
        entries = Workspace(bound.root).store.head_at(bound.place).native
    except SessionStorageError:
        return False  # it is gone, or cannot be read: `doctor` and lists name it
    return any(_is_open(entry, tool, session_id) for entry in entries)


def _is_open(entry: Entry, tool: str, session_id: str) -> bool:
    ours = entry.get("tool") == tool and entry.get("session_id") == session_id
    return ours and not entry.get("to")


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        return None
