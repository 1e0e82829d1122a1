"""Conversations of a tool that has written nothing yet.

Such a tool is known by its process only, so {pid, started} stand in the entry of `native` until
its session has an id.
"""

from __future__ import annotations

import os
from datetime import timedelta

from cortext import clock, paths
from cortext.app.binding import Bound, Entry, add_entry
from cortext.bridges.port import Source
from cortext.bridges.processes import Process, find_process
from cortext.bridges.registry import open_bridge
from cortext.durability.replace import make_private_dir, remove_if_there, replace
from cortext.errors import CortextError
from cortext.index.listed import Listed
from cortext.lifecycle.workspace import Workspace
from cortext.model import wire
from cortext.model.session import Session
from cortext.model.values import parse_time
from cortext.stores.layout import Place

_TICK = 0.02
_BEFORE = timedelta(seconds=5)
"""The request that runs us may have been made this long ago."""
_AFTER = timedelta(minutes=2)
"""A tool writes its session at the latest when the first answer is there."""


def bind_process(conversation: Listed | Bound, tool: str, process: Process) -> None:
    """Bind the session that a tool's process has, or will have when it writes one."""
    root, place = conversation.root, conversation.place
    began = wire.iso(clock.now() - _BEFORE)
    entry: Entry = {"tool": tool, "session_id": "", "path": "", "from": began, "to": ""}
    add_entry(Workspace(root), place, entry | {"pid": process.pid, "started": process.started})
    path = _file(tool, process)
    make_private_dir(os.path.dirname(path))
    _forget_ended(os.path.dirname(path))
    replace(path, [os.fsencode(f"{root}\n{place.folder[len(root) + 1 :]}\n")])


def bound_to_process(tool: str, process: Process) -> Bound | None:
    """The conversation that waits for the session of a process."""
    try:
        with open(_file(tool, process), "rb") as file:
            root, _, folder = os.fsdecode(file.read()).rstrip("\n").partition("\n")
    except OSError:
        return None
    shelf, day, name = folder.rsplit("/", 2)
    return Bound(root, Place(f"{root}/{shelf}", day, name))


def settle_by_time(bound: Bound) -> None:
    """Where no hook told us: give a waiting conversation the only session that its tool began
    while the process ran and before it was bound."""
    workspace = Workspace(bound.root)
    for entry in workspace.store.head_at(bound.place).native:
        if entry.get("session_id") or not entry.get("pid"):
            continue
        tool, process = str(entry["tool"]), _process(entry)
        began = [source for source in open_bridge(tool).sources() if _began_in(source, entry)]
        if len(began) == 1:
            _fill_in(bound, tool, began[0].id, began[0].path, process)


def settle(tool: str, session_id: str, path: str, process: Process) -> Bound | None:
    """Give its id to the session that a conversation waits for; the conversation."""
    bound = bound_to_process(tool, process)
    if bound is None:
        return None

    _fill_in(bound, tool, session_id, path, process)
    return bound


def _fill_in(bound: Bound, tool: str, id: str, path: str, process: Process) -> None:
    def change(session: Session) -> bool:
        for entry in session.native:
            if entry.get("tool") == tool and _is_of(entry, process):
                entry |= {"session_id": id, "path": path}
                del entry["pid"], entry["started"]
        return False

    Workspace(bound.root).change(bound.place, change)
    remove_if_there(_file(tool, process))


def _process(entry: Entry) -> Process:
    return Process(int(entry["pid"]), 0, float(entry["started"]), ())


def _began_in(source: Source, entry: Entry) -> bool:
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
    same = isinstance(started, (int, float)) and abs(started - process.started) < _TICK
    return same and entry.get("pid") == process.pid


def _file(tool: str, process: Process) -> str:
    name = f"{tool}-{process.pid}-{process.started:.2f}"
    return os.path.join(paths.running(), "waiting", name)


def _forget_ended(folder: str) -> None:
    """Those whose process is gone never get a session."""
    for name in os.listdir(folder):
        pid = name.split("-")[1] if name.count("-") > 1 else ""
        if pid.isdecimal() and find_process(int(pid)) is None:
            remove_if_there(os.path.join(folder, name))
