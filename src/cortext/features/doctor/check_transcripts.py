"""Check the transcripts of the AI tools. Cortext reads these files and never writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from cortext.durability.read_files import open_file
from cortext.errors import CortextError, reason_of
from cortext.features.doctor.problem import (
    NOTE,
    NOTHING,
    CheckResult,
    Problem,
    pluralize,
    report_unreadable,
)
from cortext.tools.archive_items import archive_source
from cortext.tools.descriptor import Tool
from cortext.tools.registry import open_bridge

_BLOCK = 1 << 20
_HINT = (
    "a tool's own file is never changed by us; `cortext show` gives what can be read of it, and "
    "`cortext resume` goes on with that"
)


class TranscriptFile(NamedTuple):
    """One transcript file of a tool."""

    tool: str
    path: str


def list_transcripts(tool: Tool, failures: dict[str, str]) -> Iterator[TranscriptFile]:
    """Yield every transcript file of a tool. A tool with a database has no such files.

    A folder or database that cannot be read is added to `failures`, with the reason.
    """
    _name_closed(tool, failures)
    if not os.path.isdir(tool.home):
        return
    if tool.has_databases:  # Only the database as a whole can be unreadable.
        for _ in archive_source(tool.name).items(failures):
            pass
        return
    try:
        paths = {source.path for source in open_bridge(tool.name).sources()}
    except (CortextError, OSError) as error:
        failures[tool.home] = str(error)
        return
    yield from (
        TranscriptFile(tool.name, path) for path in sorted(paths) if path.endswith(".jsonl")
    )


def _name_closed(tool: Tool, failures: dict[str, str]) -> None:
    """Add transcript folders that cannot be read to `failures`.

    The bridge, which reads a tool's transcripts, skips such folders silently.
    """

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            failures[str(error.filename)] = reason_of(error)

    for name in tool.data_folders or tool.transcript_roots:
        for _ in os.walk(os.path.join(tool.home, name), onerror=fail):
            pass


def check_transcript(history: TranscriptFile) -> CheckResult:
    """Return the problem of a transcript that cannot be read or contains NUL bytes."""
    try:
        count = _zeros(history.path)
    except OSError as error:
        return report_unreadable(history.path, error)
    if not count:
        return NOTHING
    text = f"{history.path}: {pluralize(count, 'NUL byte')} in what {history.tool} wrote"
    return CheckResult([Problem(text, _HINT, NOTE, history.path)])


def _zeros(path: str) -> int:
    fd = open_file(path)
    try:
        return sum(block.count(0) for block in iter(partial(os.read, fd, _BLOCK), b""))
    finally:
        os.close(fd)
