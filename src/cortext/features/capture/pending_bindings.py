"""Conversations of a tool whose session cannot be told yet.

Such a tool is known by its process only, so {pid, started} stand in the entry of `native` until
its session has an id. What our command prints ends up in exactly one transcript: `nonce`, which
stands in it, tells which. `cwd` is the folder that the process works in.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta

from cortext import clock, paths
from cortext.catalog.row import ConversationRow
from cortext.durability.replace_file import make_private_dir, remove_if_there, replace
from cortext.errors import CortextError
from cortext.features.capture.agent_config import find_config
from cortext.features.capture.bindings import (
    Bound,
    Entry,
    add_entry,
    bound_to,
    digest_of,
    is_bound,
    start_of_exchange,
)
from cortext.features.capture.consent import allow, is_allowed
from cortext.features.capture.transcripts import find_transcript
from cortext.formats.message_history import is_abandoned
from cortext.model import record_dicts
from cortext.model.json_values import parse_time
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.processes import Process, find_process, folder_of
from cortext.tools.protocol import TranscriptSource
from cortext.tools.registry import is_tool, open_bridge
from cortext.tools.running import TICK, still_runs
from cortext.tools.tool_context import Inside, holding, went_elsewhere, written_at
from cortext.workspace.workspace import Workspace

_log = logging.getLogger("cortext.features")
_COMMAND = "/workspace."
_BEFORE = timedelta(seconds=5)
"""The request that runs us may have been made this long ago."""
_AFTER = timedelta(minutes=2)
"""A tool writes its session at the latest when the first answer is there."""


def bind_process(
    conversation: ConversationRow | Bound, tool: str, process: Process, nonce: str = ""
) -> None:
    """Bind the session that a tool's process has, or will have when it writes one: the one that
    has the nonce, if there is one."""
    root, place = conversation.workspace, conversation.place
    began = record_dicts.iso(clock.now() - _BEFORE)
    entry: Entry = {"tool": tool, "session_id": "", "path": "", "from": began, "to": ""}
    entry |= {"pid": process.pid, "started": process.started}
    entry |= {"cwd": folder_of(process.pid)} | ({"nonce": nonce} if nonce else {})
    had = Workspace(root).store.read(conversation.path)[0].messages
    entry["held"] = digest_of(message.id for message in had if not is_abandoned(message))
    allow(place, tool, _waits_for(entry))
    add_entry(Workspace(root), place, entry, find_config(tool, cwd=str(entry["cwd"])))
    path = _file(tool, process)
    settle_all(tool)
    make_private_dir(os.path.dirname(path))
    _forget_ended(os.path.dirname(path))
    replace(path, [os.fsencode(f"{root}\n{conversation.path}\n")])


def bound_to_process(tool: str, process: Process) -> Bound | None:
    """The conversation that waits for the session of a process."""
    return _bound_in(_file(tool, process))


def _bound_in(path: str) -> Bound | None:
    try:
        with open(path, "rb") as file:
            root, _, folder = os.fsdecode(file.read()).rstrip("\n").partition("\n")
        shelf, day, name = folder.rsplit("/", 2)
    except (OSError, ValueError):
        return None
    return Bound(root, ConversationPath(f"{root}/{shelf}", day, name))


def settle_all(tool: str) -> None:
    """Settle what waits for any process of a tool, also for one that has ended."""
    folder = os.path.dirname(_file(tool, Process(0, 0, 0.0, ())))
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        waiting = _bound_in(os.path.join(folder, name)) if name.startswith(f"{tool}-") else None
        if waiting:
            try:
                settle_by_time(waiting)
            except CortextError as error:
                _log.warning("%s still waits for its session: %s", waiting.place.folder, error)


def note_asked(tool: str, process: Process, nonce: str) -> bool:
    """Write down what our last command in a process printed; whether it was the first there."""
    path = _file(tool, process, "asked")
    first = not os.path.exists(path)
    make_private_dir(os.path.dirname(path))
    _forget_ended(os.path.dirname(path))
    replace(path, [nonce.encode()])
    return first


def told_apart(inside: Inside) -> Inside:
    """Of several sessions of one process the one that a person last gave a command of ours in:
    what an agent starts is a part of doing that."""
    if inside.id or not inside.ids or inside.process is None:
        return inside
    id, _ = last_asked(inside)
    return inside._replace(ids=(id,)) if id else inside


def last_asked(inside: Inside) -> tuple[str, float]:
    """The session in which a person last gave a command of ours to a tool's process, and when, in
    seconds since 1970; "" if that cannot be told."""
    if inside.process is None:
        return "", 0.0
    try:
        with open(_file(inside.tool, inside.process, "asked"), encoding="ascii") as file:
            nonce, when = file.read(), os.fstat(file.fileno()).st_mtime
    except OSError:
        return "", 0.0
    sources = [s for s in open_bridge(inside.tool).sources() if s.id in inside.ids]
    found = holding(sources, nonce)
    return (found[0].id, when) if len(found) == 1 else ("", when)


def still_in(inside: Inside) -> str:
    """The session in which a person last gave a command of ours, if it is still the tool's; "" if
    that is not certain."""
    id, when = last_asked(inside)
    return id if id and not went_elsewhere(inside, id, when) else ""


def settle_by_time(bound: Bound) -> None:
    """Where no hook told us: give a waiting conversation the session that has its nonce, or the
    only one that its tool began while the process ran and before it was bound."""
    for entry in _waiting(bound):
        tool, nonce = str(entry["tool"]), str(entry.get("nonce") or "")
        sources = list(open_bridge(tool).sources())
        there = [source for source in sources if _is_there(source, entry)]
        found = _with_nonce(sources, there, entry) if nonce else []
        if not found and not (nonce and find_process(int(entry["pid"]))):
            # A process that runs may write its session yet.
            found = [source for source in there if _began_in(source, entry)]
        if len(found) == 1:
            _fill_in(bound, tool, found[0].id, found[0].path, _process(entry), nonce)


def _with_nonce(
    sources: list[TranscriptSource], there: list[TranscriptSource], entry: Entry
) -> list[TranscriptSource]:
    """Those that have an entry's nonce: first of its folder, then of any; a tool may be told to
    work in another than its process does."""
    nonce = str(entry["nonce"])
    if found := holding(there, nonce):
        return found
    try:
        since = parse_time(entry["from"]).timestamp()
    except (ValueError, OverflowError):
        return []
    return holding((s for s in sources if s not in there and written_at(s) >= since), nonce)


def unsettled(bound: Bound) -> list[str]:
    """What a person should know of a conversation that still waits for its session."""
    return [
        f"which {entry['tool']} session this is cannot be told; nothing was taken from it"
        for entry in _waiting(bound)
    ]


def settle(tool: str, session_id: str, path: str, process: Process) -> Bound | None:
    """Give its id to the session that a conversation waits for; the conversation."""
    bound = bound_to_process(tool, process)
    if bound is None:
        return None

    _fill_in(bound, tool, session_id, path, process)
    return bound


def _waiting(bound: Bound) -> list[Entry]:
    entries = Workspace(bound.root).store.head_at(bound.place).native
    return [entry for entry in entries if _is_waiting(entry) and is_here(bound.place, entry)]


def _is_waiting(entry: Entry) -> bool:
    return (
        not entry.get("session_id")
        and is_tool(entry.get("tool"))
        and isinstance(entry.get("pid"), int)
        and isinstance(entry.get("started"), (int, float))
    )


def is_here(place: ConversationPath, entry: Entry) -> bool:
    """Whether a conversation was bound to this session, or to the process that will have it, on
    this machine."""
    id = _waits_for(entry) if _is_waiting(entry) else str(entry.get("session_id") or "")
    return bool(id) and is_allowed(place, str(entry.get("tool") or ""), id)


def is_awaited(entry: Entry) -> bool:
    """Whether the process still runs whose session a conversation waits for."""
    return _is_waiting(entry) and still_runs(entry["pid"], entry["started"])


def _waits_for(entry: Entry) -> str:
    """What is said of a session that has no id yet."""
    return f"process {entry['pid']} {float(entry['started']):.2f}"


def _fill_in(
    bound: Bound, tool: str, id: str, path: str, process: Process, nonce: str = ""
) -> None:
    start = _start(tool, id, path, bound, process) if nonce else None
    allow(bound.place, tool, id)

    def change(session: Session) -> bool:
        for entry in session.native:
            ours = entry.get("tool") == tool and _is_of(entry, process)
            if ours and nonce in ("", entry.get("nonce")):
                entry |= {"session_id": id, "path": path, **(start or {})}
                for name in ("pid", "started", "nonce", "cwd"):
                    entry.pop(name, None)
        return False

    if start and start["from"]:
        _end_others(bound, tool, id, {"to": start["from"], "until": start["since"]})
    Workspace(bound.root).change(bound.place, change)
    if bound_to_process(tool, process) == bound:
        remove_if_there(_file(tool, process))


def _start(tool: str, id: str, path: str, bound: Bound, process: Process) -> Entry | None:
    """Where the exchange begins in which our command ran; None if that cannot be told."""
    began = next((e["from"] for e in _waiting(bound) if _is_of(e, process)), "")
    found = find_transcript(tool, id, path)
    try:
        messages = found[0].decode(found[1], longest=1000).session.messages if found else []
        since = parse_time(began)
    except (OSError, CortextError, ValueError):
        return None
    for number, message in enumerate(messages, 1):
        asks = message.role == "user" and message.content.startswith(_COMMAND)
        if asks and message.timestamp > since:
            start = start_of_exchange(messages[:number])
            times = {m.id: record_dicts.iso(m.timestamp) for m in messages[:number]}
            return {"from": start, "since": times.get(start, "")}
    return None


def _end_others(bound: Bound, tool: str, id: str, at: Entry) -> None:
    """What was had in a session before it was ours ends where ours begins."""

    def change(session: Session) -> bool:
        for entry in session.native:
            same = entry.get("tool") == tool and entry.get("session_id") == id
            if same and not entry.get("to"):
                entry |= at
        return False

    for other in bound_to(id):
        if other.place != bound.place and is_bound(other, tool, id):
            Workspace(other.root).change(other.place, change)


def _process(entry: Entry) -> Process:
    return Process(int(entry["pid"]), 0, float(entry["started"]), ())


def _is_there(source: TranscriptSource, entry: Entry) -> bool:
    """Whether a session was had in the folder of the process, as far as both are known."""
    folder = str(entry.get("cwd") or "")
    if not (folder and source.cwd):
        return True
    return os.path.realpath(source.cwd) == os.path.realpath(folder)


def _began_in(source: TranscriptSource, entry: Entry) -> bool:
    """Whether a session began after the process, and not long after it was bound."""
    try:
        began = open_bridge(source.tool).glance(source).started_at
        latest = parse_time(entry["from"]) + _AFTER
    except (OSError, CortextError, ValueError):
        return False
    started = float(entry["started"])
    return began is not None and started - 1 <= began.timestamp() <= latest.timestamp()


def _is_of(entry: Entry, process: Process) -> bool:
    started = entry.get("started")
    same = isinstance(started, (int, float)) and abs(started - process.started) < TICK
    return same and entry.get("pid") == process.pid


def _file(tool: str, process: Process, folder: str = "waiting") -> str:
    name = f"{tool}-{process.pid}-{process.started:.2f}"
    return os.path.join(paths.running(), folder, name)


def _forget_ended(folder: str) -> None:
    """Those whose process is gone never get a session."""
    for name in os.listdir(folder):
        pid = name.split("-")[1] if name.count("-") > 1 else ""
        if pid.isdecimal() and find_process(int(pid)) is None:
            remove_if_there(os.path.join(folder, name))
