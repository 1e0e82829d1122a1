"""The sub-agents' transcripts that older versions of Claude Code wrote.

They are in the same folder as other transcripts. Only the first line of a sub-agent's transcript
contains the id of the session that started the sub-agent.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence

import msgspec

from cortext.errors import why
from cortext.tools import jsonl_transcripts
from cortext.tools.transcript_folders import warn

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_HEAD = 4096
"""The number of bytes of a first line that nearly always contain the session's id."""
_FRESH_NS = 20_000_000
"""The minimum age, in nanoseconds, of a folder's last change before the folder is cached.

Two changes within this time may have the same modification time.
"""


class _Folder(msgspec.Struct, frozen=True):
    """The sub-agents' transcripts in a folder.

    `time` is the modification time of the folder in nanoseconds. `named` maps the id of a session
    to the paths of its sub-agents' transcripts. `unnamed` holds the paths of files without a
    session id: Claude Code creates an empty file, and writes the session id later.
    """

    time: int
    named: dict[str, list[str]]
    unnamed: list[str]


_cache: dict[str, _Folder] = {}
"""The cached contents of folders. A folder is read again when its modification time changes."""


def subagent_files_in(folder: str) -> Mapping[str, Sequence[str]]:
    """Return the paths of the sub-agents' transcripts in a folder, by the id of their session."""
    try:
        now = os.stat(folder).st_mtime_ns
    except OSError:
        return {}
    content = _cache.get(folder)
    if content and content.time == now:
        if content.unnamed:
            # Files start empty. The folder's time does not change when they get content.
            _cache[folder] = content = _group_by_session(content.unnamed, now, content.named)
        return content.named
    names = [
        entry.path for entry in jsonl_transcripts.listed(folder) if _is_subagent_file(entry.name)
    ]
    content = _group_by_session(names, now, {})
    if now < time.time_ns() - _FRESH_NS:
        _cache[folder] = content
    return content.named


def _is_subagent_file(name: str) -> bool:
    return name.startswith("agent-") and jsonl_transcripts.plain(name).endswith(".jsonl")


def _group_by_session(
    paths: Sequence[str], now: int, named: Mapping[str, Sequence[str]]
) -> _Folder:
    by_session = {id: [*files] for id, files in named.items()}
    unnamed: list[str] = []
    for path in paths:
        ids = _sessions_of(path)
        for id in ids:
            by_session.setdefault(id, []).append(path)
        if not ids:
            unnamed.append(path)
    return _Folder(now, by_session, unnamed)


def _sessions_of(path: str) -> set[str]:
    """Return the session ids in the first line of a file.

    The result is empty if the line has no session id, or if the file is unreadable.
    """
    try:
        for most in (_HEAD, jsonl_transcripts.ENDS[1]):
            head = jsonl_transcripts.read_head(path, most)
            first = head.partition(b"\n")[0]
            ids = {id.decode("utf-8", "replace") for id in _SESSION.findall(first)}
            if ids or len(head) < most:
                return ids
    except OSError as error:
        warn("skipped %s: %s", path, why(error))
    return set()
