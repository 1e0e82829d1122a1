"""The session of an AI tool in which this command was started.

Some tools pass the session's id to each program that they start. Other tools only set a variable
that shows that they started the program. Then the possible sessions are those that were written to
since the tool's process started.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import NamedTuple

from cortext.durability.read_files import read_file
from cortext.errors import CortextError, why
from cortext.tools.descriptor import Tool
from cortext.tools.processes import (
    Process,
    ancestors,
    find_process,
    folder_of,
    running_since,
)
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from cortext.tools.registry import find_tool, open_bridge, tools
from cortext.tools.running_sessions import TICK, is_program

_log = logging.getLogger("cortext.tools")


class Inside(NamedTuple):
    """The tool that started the current command, and the possible sessions of the command.

    `ids` is empty if the tool has not written a session yet. `ids` has several ids, the latest
    first, if the session is uncertain. `process` is the tool's process, or None if not found.
    """

    tool: str
    ids: tuple[str, ...]
    process: Process | None = None

    @property
    def id(self) -> str:
        """The session's id, or "" if there is no session yet or several are possible."""
        return self.ids[0] if len(self.ids) == 1 else ""

    @property
    def is_told(self) -> bool:
        """Whether the tool passes the session's id to the programs that it starts."""
        return bool(find_tool(self.tool).session_variable)


def here() -> Inside | None:
    """Return the AI tool that started the current process, and its session.

    The result is None if no tool started the process.
    """
    around = [tool for tool in tools() if _is_around(tool)]
    if not around:
        return None
    tool, process = _nearest(sorted(around, key=lambda tool: not tool.session_variable))
    if tool.session_variable:
        return Inside(tool.name, (os.environ[tool.session_variable],), process)
    ids = _written_since(open_bridge(tool.name), process) if process else ()
    return Inside(tool.name, ids, process)


def _is_around(tool: Tool) -> bool:
    """Return whether environment variables show that a tool started the current process."""
    variable = tool.session_variable or tool.presence_variable
    return bool(variable and os.environ.get(variable))


def holding(sources: Iterable[TranscriptSource], text: str) -> list[TranscriptSource]:
    """Return the transcripts whose stored bytes contain a text."""
    return [source for source in sources if _holds(source, text.encode())]


def _holds(source: TranscriptSource, text: bytes) -> bool:
    try:
        tool = find_tool(source.tool)
        if tool.find_text:
            return tool.load("find_text")(source, text)
        return text in read_file(source.path)
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return False


def _nearest(around: list[Tool]) -> tuple[Tool, Process | None]:
    """Return the tool that started the current process, and the tool's process if it is found.

    `around` holds the possible tools. If tools run inside each other, choose the innermost.
    """
    if len(around) == 1 and (variable := around[0].process_variable):
        pid = os.environ.get(variable, "")
        if pid.isdecimal() and (process := find_process(int(pid))):
            return around[0], process
    for process in ancestors():
        for tool in around:
            if is_program(tool.name, process.arguments):
                return tool, process
    return around[0], None


def _written_since(bridge: Bridge, process: Process) -> tuple[str, ...]:
    """Return the ids of the sessions that a process may have open, the latest first.

    These are the sessions of its folder that were written to since the process started. If the
    arguments of the process name a session, only that session and sessions that began later count.
    """
    here, since = _had_with(bridge, process), running_since(process) - TICK
    named = [source for source in here if source.id in process.arguments]
    written = [(written_at(source), source) for source in here]
    found = [
        (when, source.id)
        for when, source in written
        if source in named or (when >= since and (not named or _began_at(source) >= since))
    ]
    latest = max(found, default=(0.0, ""))[0]
    found += [new for new in _empty_sessions(bridge.tool, here, since) if new[0] > latest]
    return tuple(dict.fromkeys(id for _, id in sorted(found, reverse=True)))


def went_elsewhere(inside: Inside, id: str, since: float) -> bool:
    """Return whether the tool may have changed to another session than `id` since a time.

    This can be checked only for a tool whose empty sessions cortext can find. The result is True
    for other tools.
    """
    if not find_tool(inside.tool).empty_sessions or inside.process is None:
        return True
    here = _had_with(open_bridge(inside.tool), inside.process)
    if any(written_at(source) >= since for source in here if source.id != id):
        return True
    return any(new != id for _, new in _empty_sessions(inside.tool, here, since))


def _had_with(bridge: Bridge, process: Process) -> list[TranscriptSource]:
    """Return the sessions that took place, or may have, in the working folder of a process."""
    folder = os.path.realpath(folder_of(process.pid) or os.getcwd())
    return [s for s in bridge.sources() if not s.cwd or os.path.realpath(s.cwd) == folder]


def _empty_sessions(
    tool: str, sources: list[TranscriptSource], since: float
) -> Iterable[tuple[float, str]]:
    """Return the sessions without messages that began since a time, each with its time."""
    found = find_tool(tool)
    return found.load("empty_sessions")(sources, since) if found.empty_sessions else ()


def _began_at(source: TranscriptSource) -> float:
    """Return when a session began, in seconds since 1970, or 0 if that is unknown."""
    try:
        began = open_bridge(source.tool).glance(source).started_at
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
    return began.timestamp() if began else 0.0


def written_at(source: TranscriptSource) -> float:
    """Return when a transcript was last changed, in seconds since 1970, or 0 if that is unknown."""
    try:
        if source.size:
            return os.stat(source.path).st_mtime
        return open_bridge(source.tool).glance(source).updated_at.timestamp()
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
