"""The histories of the AI tools, which are read and never written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from cortext.durability.read_files import open_file
from cortext.errors import CortextError, reason_of
from cortext.features.doctor.problem import NOTE, NOTHING, Found, Problem, counted, unread
from cortext.tools import archive_items
from cortext.tools.registry import open_bridge
from cortext.tools.scan import TOOLS, own_home

_BLOCK = 1 << 20
_FOLDERS = {
    "claude": ("projects",),
    "codex": ("sessions", "archived_sessions"),
    "gemini": ("tmp",),
    "opencode": ("sessions", "storage", "project"),
}
"""Where transcripts are, below a tool's own folder."""
_HINT = (
    "a tool's own file is never changed by us; `cortext show` gives what can be read of it, and "
    "`cortext resume` goes on with that"
)


class History(NamedTuple):
    """One file that a tool wrote."""

    tool: str
    path: str


def histories(failures: dict[str, str]) -> Iterator[History]:
    """Every transcript that is a file of its own. What cannot be looked into is a failure."""
    for tool in TOOLS:
        _name_closed(tool, failures)
        if not os.path.isdir(own_home(tool)):
            continue
        if tool == "opencode":  # it keeps rows: only a store as a whole can be closed to us
            for _ in archive_items.items(tool, failures):
                pass
            continue
        try:
            paths = {source.path for source in open_bridge(tool).sources()}
        except (CortextError, OSError) as error:
            failures[own_home(tool)] = str(error)
            continue
        yield from (History(tool, path) for path in sorted(paths) if path.endswith(".jsonl"))


def _name_closed(tool: str, failures: dict[str, str]) -> None:
    """The folders with transcripts that nobody can look into: a bridge passes them over."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            failures[str(error.filename)] = reason_of(error)

    for name in _FOLDERS[tool]:
        for _ in os.walk(os.path.join(own_home(tool), name), onerror=fail):
            pass


def check_history(history: History) -> Found:
    """Whether a transcript can be read at all, and whether zeros stand in it."""
    try:
        count = _zeros(history.path)
    except OSError as error:
        return unread(history.path, error)
    if not count:
        return NOTHING
    text = f"{history.path}: {counted(count, 'NUL byte')} in what {history.tool} wrote"
    return Found([Problem(text, _HINT, NOTE, history.path)])


def _zeros(path: str) -> int:
    fd = open_file(path)
    try:
        return sum(block.count(0) for block in iter(partial(os.read, fd, _BLOCK), b""))
    finally:
        os.close(fd)
