"""Which session of which AI tool a command was started in.

Some tools tell the session to every program that they start. Others tell only that they started
it: theirs is the session that was written to since their process started.
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
    """A tool, and its sessions that may be the one: none if it has written nothing yet, several,
    the latest first, if it cannot be told. `process` is the tool's, if it was found."""

    tool: str
    ids: tuple[str, ...]
    process: Process | None = None

    @property
    def id(self) -> str:
        """The session, if it is certain."""
        return self.ids[0] if len(self.ids) == 1 else ""

    @property
    def is_told(self) -> bool:
        """Whether the tool itself says the session."""
        return bool(find_tool(self.tool).session_variable)


def here() -> Inside | None:
    """Return the session of a tool that this process was started in; None outside any."""
    around = [tool for tool in tools() if _is_around(tool)]
    if not around:
        return None
    tool, process = _nearest(sorted(around, key=lambda tool: not tool.session_variable))
    if tool.session_variable:
        return Inside(tool.name, (os.environ[tool.session_variable],), process)
    ids = _written_since(open_bridge(tool.name), process) if process else ()
    return Inside(tool.name, ids, process)


def _is_around(tool: Tool) -> bool:
    """Whether the environment says that a tool started us."""
    variable = tool.session_variable or tool.presence_variable
    return bool(variable and os.environ.get(variable))


def holding(sources: Iterable[TranscriptSource], text: str) -> list[TranscriptSource]:
    """Those of the transcripts that have a text in them, as the tool wrote it."""
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
    """Return the tool that is nearest to us, and its process: one tool may have started another."""
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
    """Return the sessions of a process's folder that were written to since the process started.
    If its arguments name one, return that session and those which began since: a person may have
    left it for a new one."""
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
    """Whether the tool may have continued in another session than this one since a time.

    That can be told only of a tool that writes a session as soon as it begins.
    """
    if not find_tool(inside.tool).empty_sessions or inside.process is None:
        return True
    here = _had_with(open_bridge(inside.tool), inside.process)
    if any(written_at(source) >= since for source in here if source.id != id):
        return True
    return any(new != id for _, new in _empty_sessions(inside.tool, here, since))


def _had_with(bridge: Bridge, process: Process) -> list[TranscriptSource]:
    """The sessions that were had in the folder of a process."""
    folder = os.path.realpath(folder_of(process.pid) or os.getcwd())
    return [s for s in bridge.sources() if not s.cwd or os.path.realpath(s.cwd) == folder]


def _empty_sessions(
    tool: str, sources: list[TranscriptSource], since: float
) -> Iterable[tuple[float, str]]:
    """Return the sessions that began since and in which nothing was said, with their times."""
    found = find_tool(tool)
    return found.load("empty_sessions")(sources, since) if found.empty_sessions else ()


def _began_at(source: TranscriptSource) -> float:
    """When a session began, in seconds since 1970; 0 if that cannot be told."""
    try:
        began = open_bridge(source.tool).glance(source).started_at
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
    return began.timestamp() if began else 0.0


def written_at(source: TranscriptSource) -> float:
    """When a transcript was last written to, in seconds since 1970; 0 if that cannot be told."""
    try:
        if source.size:
            return os.stat(source.path).st_mtime
        return open_bridge(source.tool).glance(source).updated_at.timestamp()
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
