"""Binding: which part of which tool session is a workspace conversation.

An entry of a head's `native` is {tool, session_id, path, from, to}. What was said after `from` and
not after `to` belongs to the conversation; "" is the beginning, or no end yet. Both are ids of
messages, for clocks go back: `since` and `until` are the times of these, for a session that went
another way and has them no more. Where no message was known, they are times themselves. `held` is
a digest of what the conversation had when it was bound: the session was told of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.features.capture.agent_config import AgentConfig, fill_in, find_config
from cortext.features.capture.consent import allow, may_take
from cortext.features.capture.transcripts import Found, find_transcript
from cortext.formats.folder import FOLDER
from cortext.formats.message_history import is_abandoned
from cortext.formats.record_lines import decode_lines
from cortext.model import record_dicts
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.registry import find_tool, is_tool
from cortext.workspace.workspace import Workspace

Entry = dict[str, Any]


class Bound(NamedTuple):
    """A conversation, and where it is."""

    root: str
    place: ConversationPath

    @property
    def path(self) -> str:
        """Where it is below the root, as lists and stores have it."""
        return self.place.folder[len(self.root) + 1 :]

    @property
    def workspace(self) -> str:
        """The root, as rows name it."""
        return self.root


def bind(
    conversation: ConversationRow | Bound,
    tool: str,
    session_id: str,
    path: str = "",
    *,
    after: str | None = None,
    cwd: str = "",
) -> None:
    """From now on what is said in a tool session belongs to a conversation; bound already:
    nothing changes. `after` is where it begins, "" for all of it, a time, or the id of the last
    message before; else it is where the exchange begins that is going on now. Another conversation
    that was had in that session ends there. `cwd` is the folder that the tool works in, if that is
    not the current one."""
    find_tool(tool)
    root, place = conversation.workspace, conversation.place
    workspace = Workspace(root)
    if any(_is_open(e, tool, session_id) for e in workspace.store.head_at(place).native):
        return
    others = [b for b in bound_to(session_id) if b.place != place and is_bound(b, tool, session_id)]
    found = find_transcript(tool, session_id, path)
    model, said = _model_and_messages(found)
    start = start_of_exchange(said) if after is None else _pinned(said, after)
    start = start or (record_dicts.iso(clock.now()) if others and after is None else "")
    times = {message.id: record_dicts.iso(message.timestamp) for message in said}
    for other in others:
        _end(other, tool, session_id, start or record_dicts.iso(clock.now()), times.get(start, ""))
    entry = {"tool": tool, "session_id": session_id, "path": found[1].path if found else path}
    entry |= {"from": start, "to": ""}
    if start:
        entry |= {"since": times[start]} if start in times else {}
        entry["held"] = digest_of(message.id for message in _live_in(place))
    add_entry(workspace, place, entry, find_config(tool, session_id, model=model, cwd=cwd))


def hold_all(conversation: ConversationRow | Bound, tool: str, session_id: str) -> None:
    """A session was told of all that its conversation has now: it lacks none of it any more."""
    place = conversation.place
    live = _live_in(place)

    def change(session: Session) -> bool:
        for entry in session.native:
            if _is_open(entry, tool, session_id):
                found = find_transcript(tool, session_id, _text(entry, "path"))
                _, said = _model_and_messages(found)
                own = {message.id for message in within(entry, said)}
                entry["held"] = digest_of(m.id for m in live if m.id not in own)
        return False

    Workspace(conversation.workspace).change(place, change)


def bound(tool: str, session_id: str, cwd: str = "") -> Bound | None:
    """The conversation that what is said now in a tool session belongs to; `cwd` is the folder
    that the tool works in."""
    found = [each for each in bound_to(session_id) if is_bound(each, tool, session_id)]
    return one_of(found, session_id, cwd or os.getcwd())


def one_of(found: Sequence[Bound], session_id: str, cwd: str) -> Bound | None:
    """Of several checkouts that have a conversation, the one that the tool works in. Where that
    does not tell, none: words in the wrong one are worse than words that are taken later."""
    if len(found) < 2:
        return found[0] if found else None
    place = f"{os.path.realpath(cwd)}/"
    around = {b: os.path.realpath(b.root) for b in found}
    here = [b for b in found if place.startswith(f"{around[b]}/")]
    nearest = max((len(around[b]) for b in here), default=0)
    left = [b for b in here if len(around[b]) == nearest] or found
    if len(left) == 1:
        return left[0]
    from cortext.features.errors_log import write_error

    names = ", ".join(b.place.folder for b in left)
    write_error("capture", CortextError(f"session {session_id} belongs to several: {names}"))
    return None


def bound_to(session_id: str) -> list[Bound]:
    """Every conversation that was had in a tool session, the latest first."""
    from cortext.catalog.catalog import Catalog
    from cortext.workspace.known_folders import known_workspaces

    roots = [root for root in known_workspaces() if os.path.isdir(root)]
    with Catalog.at_home() as catalog:
        rows = catalog.list(roots)
    return [Bound(row.workspace, row.place) for row in rows if session_id in row.session_ids]


def within(entry: Entry, messages: Sequence[SessionMessage]) -> list[SessionMessage]:
    """Those of a session's messages that an entry makes a conversation's own."""
    begin = begins(entry, messages)
    return [] if begin is None else list(messages[begin : _ends(entry, messages, begin)])


def begins(entry: Entry, messages: Sequence[SessionMessage]) -> int | None:
    """Where among a session's messages the conversation begins; None if it has not yet. What
    comes later in the session is later, whatever the clock said."""
    start = _text(entry, "from")
    if not start:
        return 0
    at = _place_of(start, messages)
    if at is not None:
        return at + 1
    when = _time(start) or _time(_text(entry, "since"))
    return _first_after(when, messages) if when else 0


def _ends(entry: Entry, messages: Sequence[SessionMessage], begin: int) -> int:
    end = _text(entry, "to")
    if not end:
        return len(messages)
    at = _place_of(end, messages)
    if at is not None:
        return at + 1
    when = _time(end) or _time(_text(entry, "until"))
    if when is None:
        return begin  # what cannot be told apart is left
    after = _first_after(when, messages[begin:])
    return len(messages) if after is None else begin + after


def start_of_exchange(messages: Sequence[SessionMessage]) -> str:
    """The id of the last message before the exchange that is going on; "" if it is the first.

    If the last answer is complete, the next request is not written yet: tools write it when
    what it runs has run.
    """
    if not messages:
        return ""
    last = messages[-1]
    if last.role in ("assistant", "system") and not last.tool_calls:
        return last.id
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    return messages[asked[-1] - 1].id if asked and asked[-1] else ""


def digest_of(ids: Iterable[str]) -> str:
    """Of messages, in whatever order; "" of none."""
    listed = "\n".join(sorted(ids)).encode("utf-8", "surrogatepass")
    return blake2b(listed, digest_size=16).hexdigest() if listed else ""


def _live_in(place: ConversationPath) -> list[SessionMessage]:
    """What a conversation has now, without what was abandoned."""
    try:
        data = read_file(place.lines)
    except FileNotFoundError:
        return []
    return [m for m in decode_lines(data, FOLDER.records).messages if not is_abandoned(m)]


def _pinned(messages: Sequence[SessionMessage], after: str) -> str:
    """A time as the last message that is not after it: later ones may have earlier times."""
    when = _time(after)
    if when is None or _place_of(after, messages) is not None:
        return after
    first = _first_after(when, messages)
    before = messages if first is None else messages[:first]
    return before[-1].id if before else after


def _place_of(id: str, messages: Sequence[SessionMessage]) -> int | None:
    return next((place for place, message in enumerate(messages) if message.id == id), None)


def _first_after(when: datetime, messages: Sequence[SessionMessage]) -> int | None:
    return next((n for n, message in enumerate(messages) if message.timestamp > when), None)


def _model_and_messages(found: Found | None) -> tuple[str, Sequence[SessionMessage]]:
    """Return the model that a transcript names, and its messages."""
    if found is None:
        return "", ()
    bridge, source = found
    try:
        session = bridge.decode(source, longest=1000).session
    except FileNotFoundError:
        return "", ()
    return session.model, session.messages


def add_entry(
    workspace: Workspace, place: ConversationPath, entry: Entry, known: AgentConfig
) -> None:
    """Add an entry to a head's `native`, and what is known of its agent. This person thereby allows
    the conversation to take the session."""
    if entry["session_id"]:
        allow(place, str(entry["tool"]), str(entry["session_id"]))

    def change(session: Session) -> bool:
        session.native = [*session.native, entry]
        fill_in(session, known)
        return False

    workspace.change(place, change)


def _end(other: Bound, tool: str, session_id: str, at: str, time: str) -> None:
    """Another conversation begins in a session: this one has what was said before."""

    def change(session: Session) -> bool:
        for entry in session.native:
            if _is_open(entry, tool, session_id):
                entry |= {"to": at} | ({"until": time} if time else {})
        return False

    Workspace(other.root).change(other.place, change)


def is_bound(bound: Bound, tool: str, session_id: str) -> bool:
    """Whether what is said now in a tool session belongs to this conversation."""
    try:
        entries = Workspace(bound.root).store.head_at(bound.place).native
    except (SessionNotFoundError, SessionCorruptedError):
        return False  # it is gone, or damaged: `doctor` and lists name it
    if not any(_is_open(entry, tool, session_id) for entry in entries):
        return False
    return may_take(bound.root, bound.place, tool, session_id)


def _is_open(entry: Entry, tool: str, session_id: str) -> bool:
    ours = entry.get("tool") == tool and entry.get("session_id") == session_id
    return ours and not entry.get("to")


def is_sound(entry: Entry) -> bool:
    """Whether an entry can be followed: it comes from a file that others may have written."""
    tool, id = entry.get("tool"), entry.get("session_id")
    texts = all(isinstance(entry.get(name, ""), str) for name in ("path", "from", "to"))
    return is_tool(tool) and isinstance(id, str) and bool(id) and texts


def _text(entry: Entry, name: str) -> str:
    return str(entry.get(name) or "")


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None
