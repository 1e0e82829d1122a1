"""Check the transcripts of the AI tools. Cortext reads these files and never writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

import msgspec

from cortext.durability.read_files import open_file
from cortext.errors import CortextError, reason_of
from cortext.features.doctor.check_results import (
    NOTE,
    NOTHING,
    CheckResult,
    Problem,
    pluralize,
    report_unreadable,
)
from cortext.formats.message_lines import Damage
from cortext.tools.archive_items import archive_source
from cortext.tools.descriptor import Tool
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.registry import open_bridge

_BLOCK = 1 << 20
_LONGEST_RESULT = 200  # characters of a tool result; its text is not needed
_MAX_DAMAGES = 3  # for each transcript
_HINT = (
    "cortext never changes a tool's transcript; `cortext show` and `cortext resume` use the part "
    "that can be read"
)


class TranscriptFile(msgspec.Struct, frozen=True):
    """One transcript file of a tool. `sources` are the sessions in the file, usually one."""

    tool: str
    path: str
    sources: list[TranscriptSource]


def list_transcripts(tool: Tool, failures: dict[str, str]) -> Iterator[TranscriptFile]:
    """Yield every transcript file of a tool. Yield nothing for a tool that uses a database.

    If a folder or database cannot be read, add its path and the reason to `failures`.
    """
    _find_unreadable(tool, failures)
    if not os.path.isdir(tool.home):
        return
    if tool.has_databases:  # Only the database as a whole can be unreadable.
        for _ in archive_source(tool.name).items(failures):
            pass
        return
    files: dict[str, list[TranscriptSource]] = {}
    try:
        for source in open_bridge(tool.name).sources():
            files.setdefault(source.path, []).append(source)
    except (CortextError, OSError) as error:
        failures[tool.home] = str(error)
        return
    yield from (TranscriptFile(tool.name, path, files[path]) for path in sorted(files))


def _find_unreadable(tool: Tool, failures: dict[str, str]) -> None:
    """Add each unreadable transcript folder of a tool to `failures`, with the reason.

    This extra check is needed because the reader of the transcripts skips such folders silently.
    """

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            failures[str(error.filename)] = reason_of(error)

    for name in tool.data_folders or tool.transcript_roots:
        for _ in os.walk(os.path.join(tool.home, name), onerror=fail):
            pass


def check_transcript(history: TranscriptFile) -> CheckResult:
    """Check a transcript, and return a problem for each damaged place.

    If the transcript cannot be read, return one problem with the reason. `cortext stats`, `cortext
    show` and the web page report the same damaged places.
    """
    count = 0
    try:
        if history.path.endswith(".jsonl"):
            count = _count_nuls(history.path)
        damages = _find_damages(history)
    except CortextError as error:
        return CheckResult([Problem(f"{history.path}: {error}", _HINT, NOTE, history.path)])
    except OSError as error:
        return report_unreadable(history.path, error)
    texts: list[str] = []
    if count:
        nuls = pluralize(count, "NUL byte")
        texts.append(f"{history.path}: the transcript of {history.tool} contains {nuls}")
        damages = [damage for damage in damages if "NUL" not in damage.detail]
    for damage in damages[:_MAX_DAMAGES]:
        path = damage.path or history.path
        where = path if damage.line is None else f"{path}, line {damage.line}"
        texts.append(f"{where}: {damage.detail}")
    if more := len(damages[_MAX_DAMAGES:]):
        texts.append(f"{history.path}: {pluralize(more, 'more damaged place')}")
    if not texts:
        return NOTHING
    return CheckResult([Problem(text, _HINT, NOTE, history.path) for text in texts])


def _find_damages(history: TranscriptFile) -> list[Damage]:
    """Return the damage of a transcript, including an incomplete last line of a live session."""
    bridge = open_bridge(history.tool)
    return [
        damage
        for source in history.sources
        for damage in bridge.decode(source, longest=_LONGEST_RESULT).damages
    ]


def _count_nuls(path: str) -> int:
    fd = open_file(path)
    try:
        return sum(block.count(0) for block in iter(partial(os.read, fd, _BLOCK), b""))
    finally:
        os.close(fd)
