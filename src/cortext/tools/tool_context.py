"""Which session of which AI tool a command was started in.

Claude Code and Codex say it to every program that they start. OpenCode and Gemini CLI say only
that it is them: theirs is the session that was written to since their process runs.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cortext.durability.read_files import read_file, read_first_line
from cortext.errors import CortextError, why
from cortext.tools.jsonl import listed
from cortext.tools.processes import (
    Process,
    ancestors,
    find_process,
    folder_of,
    running_since,
)
from cortext.tools.protocol import Bridge, Source
from cortext.tools.registry import BRIDGES, open_bridge
from cortext.tools.running import TICK, is_program

_log = logging.getLogger("cortext.tools")
_SAYS_ID = {"claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_THREAD_ID"}
_HEAD = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9._-]{0,127})"')
_LONGEST_HEAD = 1 << 16
_SAYS_TOOL = {"opencode": "OPENCODE", "gemini": "GEMINI_CLI"}


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
        return self.tool in _SAYS_ID


def here() -> Inside | None:
    """The session of a tool that this process was started in; None outside any."""
    said = {**_SAYS_ID, **_SAYS_TOOL}
    tools = [tool for tool in BRIDGES if os.environ.get(said[tool])]
    if not tools:
        return None
    tool, process = _nearest(tools)
    if tool in _SAYS_ID:
        return Inside(tool, (os.environ[_SAYS_ID[tool]],), process)
    return Inside(tool, _written_since(open_bridge(tool), process) if process else (), process)


def holding(sources: Iterable[Source], text: str) -> list[Source]:
    """Those of the transcripts that have a text in them, as the tool wrote it."""
    return [source for source in sources if _holds(source, text.encode())]


def _holds(source: Source, text: bytes) -> bool:
    try:
        if source.tool == "opencode":
            return _has_part(source, text)
        return text in read_file(source.path)
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return False


def _has_part(source: Source, text: bytes) -> bool:
    from cortext.tools.opencode.storage import Store, Tree, read_database

    def work(store: Store) -> bool:
        messages = list(store.messages(source.id))[::-1]
        return any(text in p.data for m in messages for p in store.parts(source.id, m.id))

    if source.path.endswith(".db"):
        return read_database(source.path, work)
    return source.path.endswith(".json") and work(Tree(source.path))


def _nearest(tools: list[str]) -> tuple[str, Process | None]:
    """One tool may have started another: the one that is nearest to us, and its process."""
    if "opencode" in tools and (pid := os.environ.get("OPENCODE_PID", "")).isdecimal():
        process = find_process(int(pid))
        if len(tools) == 1 and process:
            return "opencode", process
    for process in ancestors():
        for tool in tools:
            if is_program(tool, process.arguments):
                return tool, process
    return tools[0], None


def _written_since(bridge: Bridge, process: Process) -> tuple[str, ...]:
    """The sessions of the tool's folder that were written to since it runs. If its arguments name
    one, that one and those which began since: a person may have left it for a new one."""
    here, since = _had_with(bridge, process), running_since(process) - TICK
    named = [source for source in here if source.id in process.arguments]
    written = [(written_at(source), source) for source in here]
    found = [
        (when, source.id)
        for when, source in written
        if source in named or (when >= since and (not named or _began_at(source) >= since))
    ]
    latest = max(found, default=(0.0, ""))[0]
    found += [new for new in _unspoken(here, since) if new[0] > latest]
    return tuple(dict.fromkeys(id for _, id in sorted(found, reverse=True)))


def went_elsewhere(inside: Inside, id: str, since: float) -> bool:
    """Whether, as far as can be told, another session than this one may be the tool's since a
    time: one was begun in its folder, or written to. Only Gemini CLI writes a session as soon as
    it is begun, or gone on with; of another tool that cannot be told."""
    if inside.tool != "gemini" or inside.process is None:
        return True
    here = _had_with(open_bridge(inside.tool), inside.process)
    if any(written_at(source) >= since for source in here if source.id != id):
        return True
    return any(new != id for _, new in _unspoken(here, since))


def _had_with(bridge: Bridge, process: Process) -> list[Source]:
    """The sessions that were had in the folder of a process."""
    folder = os.path.realpath(folder_of(process.pid) or os.getcwd())
    return [s for s in bridge.sources() if not s.cwd or os.path.realpath(s.cwd) == folder]


def _unspoken(here: Iterable[Source], since: float) -> Iterator[tuple[float, str]]:
    """The sessions that Gemini CLI began since, and in which nothing was said: `/clear` writes the
    head of a new one at once. No list has them, so they are no sources."""
    files = {source.path for source in here if source.tool == "gemini"}
    for folder in {os.path.dirname(path) for path in files}:
        for entry in listed(folder):
            path = entry.path
            if path in files or not path.endswith(".jsonl"):
                continue
            try:
                when = entry.stat().st_mtime
                head = read_first_line(path, _LONGEST_HEAD) if when >= since else b""
            except OSError as error:
                _log.warning("%s is passed over: %s", path, why(error))
                continue
            if found := _HEAD.search(head):
                yield when, found[1].decode()


def _began_at(source: Source) -> float:
    """When a session began, in seconds since 1970; 0 if that cannot be told."""
    try:
        began = open_bridge(source.tool).glance(source).started_at
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
    return began.timestamp() if began else 0.0


def written_at(source: Source) -> float:
    """When a transcript was last written to, in seconds since 1970; 0 if that cannot be told."""
    try:
        if source.size:
            return os.stat(source.path).st_mtime
        return open_bridge(source.tool).glance(source).updated_at.timestamp()
    except (OSError, CortextError) as error:
        _log.warning("%s is passed over: %s", source.path, why(error))
        return 0.0
