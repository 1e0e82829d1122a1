"""The session of an AI tool in which the current command runs.

Some tools pass the session's id to each program that they start. Other tools only set an
environment variable. The variable shows that the tool started the program, but not in which
session. Then cortext considers every session that changed after the tool's process started.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import NamedTuple

from cortext.durability.read_files import read_file
from cortext.errors import CortextError, why
from cortext.tools.descriptor import Tool
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge, tools
from cortext.tools.running_sessions import TICK, is_program
from cortext.tools.system_processes import (
    Process,
    ancestors,
    find_process,
    folder_of,
    running_since,
)

_log = logging.getLogger("cortext.tools")


class Inside(NamedTuple):
    """The tool that started the current command, and the sessions in which the command may run.

    `tool` is the name of the tool. `ids` holds the ids of these sessions, the latest session first.
    `ids` is empty if no session is found, for example because the tool has not written one yet.
    `process` is the tool's process, or None if it was not found.
    """

    tool: str
    ids: tuple[str, ...]
    process: Process | None = None

    @property
    def id(self) -> str:
        """The id of the session if there is exactly one possible session, otherwise ""."""
        return self.ids[0] if len(self.ids) == 1 else ""

    @property
    def is_told(self) -> bool:
        """Whether the tool passes the session's id to the programs that it starts."""
        return bool(find_tool(self.tool).session_variable)


def here() -> Inside | None:
    """Return the AI tool that started the current process, and its session.

    The result is None if no tool started the process.
    """
    candidates = [tool for tool in tools() if _started_us(tool)]
    if not candidates:
        return None
    tool, process = _innermost(sorted(candidates, key=lambda tool: not tool.session_variable))
    if tool.session_variable:
        return Inside(tool.name, (os.environ[tool.session_variable],), process)
    ids = _written_since(open_bridge(tool.name), process) if process else ()
    return Inside(tool.name, ids, process)


def _started_us(tool: Tool) -> bool:
    """Return whether environment variables show that a tool started the current process."""
    variable = tool.session_variable or tool.presence_variable
    return bool(variable and os.environ.get(variable))


def holding(sources: Iterable[TranscriptSource], text: str) -> list[TranscriptSource]:
    """Return the transcripts in `sources` whose stored bytes contain `text`."""
    return [source for source in sources if _contains(source, text.encode())]


def _contains(source: TranscriptSource, text: bytes) -> bool:
    try:
        tool = find_tool(source.tool)
        if tool.find_text:
            return tool.load("find_text")(source, text)
        return text in read_file(source.path)
    except (OSError, CortextError) as error:
        _log.warning("skipped %s: %s", source.path, why(error))
        return False


def _innermost(candidates: list[Tool]) -> tuple[Tool, Process | None]:
    """Return the tool that started the current process, and the tool's process if it is found.

    `candidates` holds the possible tools. If tools run inside each other, choose the innermost.
    """
    if len(candidates) == 1 and (variable := candidates[0].process_variable):
        pid = os.environ.get(variable, "")
        if pid.isdecimal() and (process := find_process(int(pid))):
            return candidates[0], process
    for process in ancestors():
        for tool in candidates:
            if is_program(tool.name, process.arguments):
                return tool, process
    return candidates[0], None


def _written_since(bridge: Bridge, process: Process) -> tuple[str, ...]:
    """Return the ids of the sessions that a process may have open, the latest session first.

    These are the sessions of the process's working folder that changed after the process started.
    If the arguments of the process contain a session's id, the result has only this session and
    sessions that began after the process started. New sessions without messages are included if
    they are newer than all others.
    """
    sources, since = _sessions_in_folder(bridge, process), running_since(process) - TICK
    named = [source for source in sources if source.id in process.arguments]
    written = [(written_at(source), source) for source in sources]
    possible = [
        (when, source.id)
        for when, source in written
        if source in named or (when >= since and (not named or _began_at(source) >= since))
    ]
    latest = max(possible, default=(0.0, ""))[0]
    possible += [new for new in _empty_sessions(bridge.tool, sources, since) if new[0] > latest]
    return tuple(dict.fromkeys(id for _, id in sorted(possible, reverse=True)))


def may_have_changed_session(inside: Inside, id: str, since: float) -> bool:
    """Return whether the user may have changed from the session `id` to another session.

    The result is True if another session changed after the time `since`, in seconds since 1970. It
    is also True if cortext cannot find the tool's process, or cannot find new sessions of the tool
    that have no messages yet.
    """
    if not find_tool(inside.tool).empty_sessions or inside.process is None:
        return True
    sources = _sessions_in_folder(open_bridge(inside.tool), inside.process)
    if any(written_at(source) >= since for source in sources if source.id != id):
        return True
    return any(new != id for _, new in _empty_sessions(inside.tool, sources, since))


def _sessions_in_folder(bridge: Bridge, process: Process) -> list[TranscriptSource]:
    """Return the sessions whose working folder is that of a process, or is unknown."""
    folder = os.path.realpath(folder_of(process.pid) or os.getcwd())
    return [s for s in bridge.sources() if not s.cwd or os.path.realpath(s.cwd) == folder]


def _empty_sessions(
    tool: str, sources: list[TranscriptSource], since: float
) -> Iterable[tuple[float, str]]:
    """Return the modification time and the id of each session without messages.

    Only sessions that changed at or after the time `since` are returned. Times are in seconds since
    1970. `sources` are the sessions that have messages. The result is empty if cortext cannot find
    such sessions of the tool.
    """
    descriptor = find_tool(tool)
    return descriptor.load("empty_sessions")(sources, since) if descriptor.empty_sessions else ()


def _began_at(source: TranscriptSource) -> float:
    """Return when a session began, in seconds since 1970, or 0 if that is unknown."""
    try:
        began = open_bridge(source.tool).glance(source).started_at
    except (OSError, CortextError) as error:
        _log.warning("skipped %s: %s", source.path, why(error))
        return 0.0
    return began.timestamp() if began else 0.0


def written_at(source: TranscriptSource) -> float:
    """Return when a transcript was last changed, in seconds since 1970, or 0 if that is unknown."""
    try:
        if source.size:
            return os.stat(source.path).st_mtime
        return open_bridge(source.tool).glance(source).updated_at.timestamp()
    except (OSError, CortextError) as error:
        _log.warning("skipped %s: %s", source.path, why(error))
        return 0.0
