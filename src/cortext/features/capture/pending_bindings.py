"""Pending bindings: bindings to a tool session whose id is not known yet.

A binding links a conversation to a tool session. Some tools do not pass the id of the session to
the commands that they run. In this case, the binding names the process of the tool until the id is
known. For each such process, a file below `running/waiting` names the conversation.

To find the session, our command prints a nonce: a random text. Only the transcript of the session
that ran the command contains the nonce.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta

from msgspec import Struct

from cortext import clock, paths
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import make_private_dir, remove_if_there, replace
from cortext.errors import CortextError
from cortext.features.capture.agent_config import find_config
from cortext.features.capture.bindings import (
    ConversationRef,
    add_binding,
    bound_conversations,
    digest_ids,
    end_binding,
    find_exchange_start,
    link_session,
)
from cortext.features.capture.capture_permission import allow, is_allowed
from cortext.features.capture.transcripts import find_transcript
from cortext.formats.history_in_order import is_abandoned
from cortext.model import message_dicts
from cortext.model.json_values import parse_time
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding, bindings_of, change_bindings
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.registry import is_tool, open_bridge
from cortext.tools.running_sessions import TICK, still_runs
from cortext.tools.surrounding_session import Inside, holding, may_have_changed_session, written_at
from cortext.tools.system_processes import Process, find_process, folder_of
from cortext.workspace.workspace import Workspace

_log = logging.getLogger("cortext.features")
_COMMAND_PREFIX = "/workspace."
_MAX_REQUEST_AGE = timedelta(seconds=5)
"""The maximum time between the user's request and the start of our command."""
_MAX_SESSION_DELAY = timedelta(minutes=2)
"""The maximum time from the moment a pending binding is made until its session begins."""


class _ExchangeStart(Struct, frozen=True):
    """The id and the time of the last message before the exchange in which our command ran."""

    id: str
    time: str


def bind_process(
    conversation: ConversationRow | ConversationRef, tool: str, process: Process, nonce: str = ""
) -> None:
    """Add a pending binding between a conversation and the session of a tool's process.

    The binding is pending because the id of the session is not known yet. `nonce` is the random
    text that our command prints, or "". The nonce shows which session is meant, because only the
    transcript of that session contains it.
    """
    ref = ConversationRef(conversation.workspace, conversation.place)
    stored = Workspace(ref.root).store.read(ref.path)[0].messages
    binding = ToolBinding(
        tool=tool,
        start=message_dicts.iso(clock.now() - _MAX_REQUEST_AGE),
        end="",
        pid=process.pid,
        process_start=process.started,
        cwd=folder_of(process.pid),
        nonce=nonce or None,
        seen_digest=digest_ids(message.id for message in stored if not is_abandoned(message)),
    )
    allow(ref.place, tool, _process_label(binding))
    add_binding(ref, binding, find_config(tool, cwd=binding.cwd or ""))
    path = _process_file(tool, process)
    resolve_pending_all(tool)
    make_private_dir(os.path.dirname(path))
    _delete_ended_files(os.path.dirname(path))
    replace(path, [os.fsencode(f"{ref.root}\n{ref.path}\n")])


def find_pending(tool: str, process: Process) -> ConversationRef | None:
    """Return the conversation that has a pending binding to a process, or None.

    A pending binding waits until the id of the session in the process is known.
    """
    return _read_process_file(_process_file(tool, process))


def _read_process_file(path: str) -> ConversationRef | None:
    try:
        with open(path, "rb") as file:
            root, _, folder = os.fsdecode(file.read()).rstrip("\n").partition("\n")
        return ConversationRef.at(root, folder)
    except (OSError, ValueError):
        return None


def resolve_pending(
    tool: str, session_id: str, path: str, process: Process
) -> ConversationRef | None:
    """Bind a session to the conversation that has a pending binding to the session's process.

    Return the conversation. The result is None if no conversation has a pending binding to
    `process`.
    """
    ref = find_pending(tool, process)
    if ref is not None:
        _bind_pending(ref, tool, session_id, path, process)
    return ref


def resolve_pending_all(tool: str) -> None:
    """Try to find the sessions of all pending bindings of a tool, and bind them.

    Bindings of ended processes are included. Failures are logged.
    """
    folder = os.path.dirname(_process_file(tool, Process(0, 0, 0.0, ())))
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for name in names:
        path = os.path.join(folder, name)
        ref = _read_process_file(path) if name.startswith(f"{tool}-") else None
        if ref:
            try:
                resolve_pending_by_content(ref)
            except CortextError as error:
                _log.warning("could not find the tool session of %s: %s", ref.place.folder, error)


def resolve_pending_by_content(ref: ConversationRef) -> None:
    """Find the sessions of a conversation's pending bindings, and bind them.

    First search the transcripts for the binding's nonce, a random text that our command printed. If
    no transcript contains the nonce, and the process cannot write it any more, compare times: the
    session must have begun after the process started, and soon after the binding was made. If
    several sessions are possible, or none, the binding stays pending.
    """
    for binding in _pending_bindings(ref):
        sources = list(open_bridge(binding.tool).sources())
        in_folder = [source for source in sources if _is_in_folder(source, binding)]
        found = _sessions_with_nonce(sources, in_folder, binding)
        process = _process_of(binding)
        if not found and not (binding.nonce and find_process(process.pid)):
            # While a process with a nonce runs, it may still write its session.
            found = [source for source in in_folder if _began_in_process(source, binding)]
        if len(found) == 1:
            _bind_pending(
                ref, binding.tool, found[0].id, found[0].path, process, binding.nonce or ""
            )


def describe_pending(ref: ConversationRef) -> list[str]:
    """Return a note for the user about each pending binding of a conversation."""
    return [
        f"the {binding.tool} session of this conversation is unknown; nothing was captured from it"
        for binding in _pending_bindings(ref)
    ]


def note_nonce(tool: str, process: Process, nonce: str) -> bool:
    """Store the nonce that our command printed. A nonce is a random text.

    `process` is the process of the tool that ran the command. The nonce shows in which session the
    command ran. Return whether this is the first nonce of the process.
    """
    path = _process_file(tool, process, "asked")
    first = not os.path.exists(path)
    make_private_dir(os.path.dirname(path))
    _delete_ended_files(os.path.dirname(path))
    replace(path, [nonce.encode()])
    return first


def disambiguate_session(inside: Inside) -> Inside:
    """Return `inside` with only the session in which the user last ran a command of cortext.

    `inside` describes the tool that runs this command, and the sessions that may be the current
    session. An agent usually runs this command because of the user's last command. Therefore both
    commands belong to the same session. If the session stays uncertain, return `inside` unchanged.
    """
    if inside.id or not inside.ids or inside.process is None:
        return inside
    id, _ = _find_commanded_session(inside)
    return inside._replace(ids=(id,)) if id else inside


def find_current_session(inside: Inside) -> str:
    """Return the id of the session in which the user last ran a command of cortext.

    The result is "" if the session is uncertain, or if the tool may have changed to another session
    after that command.
    """
    id, when = _find_commanded_session(inside)
    return id if id and not may_have_changed_session(inside, id, when) else ""


def _find_commanded_session(inside: Inside) -> tuple[str, float]:
    """Return the id of the session that last ran our command, and the time of the command.

    The id is "" if the session is uncertain. The time is in seconds since 1970.
    """
    if inside.process is None:
        return "", 0.0
    try:
        with open(_process_file(inside.tool, inside.process, "asked"), encoding="ascii") as file:
            nonce, when = file.read(), os.fstat(file.fileno()).st_mtime
    except OSError:
        return "", 0.0
    sources = [s for s in open_bridge(inside.tool).sources() if s.id in inside.ids]
    found = holding(sources, nonce)
    return (found[0].id, when) if len(found) == 1 else ("", when)


def is_bound_here(place: ConversationPath, binding: ToolBinding) -> bool:
    """Return whether a binding was made on this machine."""
    id = _process_label(binding) if _is_pending(binding) else binding.session_id
    return bool(id) and is_allowed(place, binding.tool, id)


def is_process_running(binding: ToolBinding) -> bool:
    """Return whether the process of a pending binding still runs."""
    process = _process_of(binding)
    return _is_pending(binding) and still_runs(process.pid, process.started)


def _pending_bindings(ref: ConversationRef) -> list[ToolBinding]:
    bindings = bindings_of(FolderStore(ref.root).head_at(ref.place))
    return [each for each in bindings if _is_pending(each) and is_bound_here(ref.place, each)]


def _is_pending(binding: ToolBinding) -> bool:
    return binding.is_pending and is_tool(binding.tool)


def _process_of(binding: ToolBinding) -> Process:
    return Process(binding.pid or 0, 0, binding.process_start or 0.0, ())


def _process_label(binding: ToolBinding) -> str:
    """Return a label for the session of a pending binding.

    The id of the session is not known yet, so the label names the process. The permission to
    capture the session is stored under this label.
    """
    process = _process_of(binding)
    return f"process {process.pid} {process.started:.2f}"


def _sessions_with_nonce(
    sources: list[TranscriptSource], in_folder: list[TranscriptSource], binding: ToolBinding
) -> list[TranscriptSource]:
    """Return the sessions whose transcripts contain the nonce of a binding.

    `in_folder` are the sessions of the binding's folder, which are searched first. Then the other
    `sources` are searched, because a tool may work in another folder than its process.
    """
    if not binding.nonce:
        return []
    if found := holding(in_folder, binding.nonce):
        return found
    try:
        since = parse_time(binding.start).timestamp()
    except (ValueError, OverflowError):
        return []
    others = (s for s in sources if s not in in_folder and written_at(s) >= since)
    return holding(others, binding.nonce)


def _bind_pending(
    ref: ConversationRef, tool: str, id: str, path: str, process: Process, nonce: str = ""
) -> None:
    start = _find_command_start(tool, id, path, ref, process) if nonce else None
    allow(ref.place, tool, id)

    def is_target(binding: ToolBinding) -> bool:
        is_of_process = binding.tool == tool and _is_of_process(binding, process)
        return is_of_process and nonce in ("", binding.nonce)

    def change(session: Session) -> bool:
        known = {"start": start.id, "start_time": start.time} if start else {}
        cleared = dict.fromkeys(("pid", "process_start", "nonce", "cwd"))
        change_bindings(session, is_target, session_id=id, path=path, **known, **cleared)
        return False

    if start and start.id:
        for other in bound_conversations(tool, id):
            if other.place != ref.place:
                end_binding(other, tool, id, start.id, start.time)
    Workspace(ref.root).change(ref.place, change)
    link_session(ref, id)
    if find_pending(tool, process) == ref:
        remove_if_there(_process_file(tool, process))


def _find_command_start(
    tool: str, id: str, path: str, ref: ConversationRef, process: Process
) -> _ExchangeStart | None:
    """Return the last message before the exchange in which our command ran, or None.

    `ref` is the conversation that has a pending binding to `process`.
    """
    began = next(
        (each.start for each in _pending_bindings(ref) if _is_of_process(each, process)), ""
    )
    found = find_transcript(tool, id, path)
    try:
        messages = found[0].decode(found[1], longest=1000).session.messages if found else []
        since = parse_time(began)
    except (OSError, CortextError, ValueError):
        return None
    for number, message in enumerate(messages, 1):
        is_command = message.role == "user" and message.content.startswith(_COMMAND_PREFIX)
        if is_command and message.timestamp > since:
            start = find_exchange_start(messages[:number])
            times = {m.id: message_dicts.iso(m.timestamp) for m in messages[:number]}
            return _ExchangeStart(start, times.get(start, ""))
    return None


def _is_in_folder(source: TranscriptSource, binding: ToolBinding) -> bool:
    """Return whether a session took place in the binding's folder. An unknown folder matches."""
    if not (binding.cwd and source.cwd):
        return True
    return os.path.realpath(source.cwd) == os.path.realpath(binding.cwd)


def _began_in_process(source: TranscriptSource, binding: ToolBinding) -> bool:
    """Return whether a session began after the start of the binding's process.

    The session must also begin at most two minutes after the binding was made.
    """
    try:
        began = open_bridge(source.tool).glance(source).started_at
        latest = parse_time(binding.start) + _MAX_SESSION_DELAY
    except (OSError, CortextError, ValueError):
        return False
    started = _process_of(binding).started
    return began is not None and started - 1 <= began.timestamp() <= latest.timestamp()


def _is_of_process(binding: ToolBinding, process: Process) -> bool:
    started = binding.process_start
    same = started is not None and abs(started - process.started) < TICK
    return same and binding.pid == process.pid


def _process_file(tool: str, process: Process, folder: str = "waiting") -> str:
    name = f"{tool}-{process.pid}-{process.started:.2f}"
    return os.path.join(paths.running(), folder, name)


def _delete_ended_files(folder: str) -> None:
    """Delete the files about ended processes. An ended process gets no new sessions."""
    for name in os.listdir(folder):
        pid = name.split("-")[1] if name.count("-") > 1 else ""
        if pid.isdecimal() and find_process(int(pid)) is None:
            remove_if_there(os.path.join(folder, name))
