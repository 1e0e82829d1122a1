"""Sub-agents' transcripts that older versions of Claude Code stored beside normal transcripts.

Only the first line of a sub-agent's transcript contains the id of the session that started it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cortext.errors import why
from cortext.tools import jsonl_transcripts
from cortext.tools.transcript_folders import warn

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_HEAD = 4096
"""The number of bytes of a first line that nearly always contain the session's id."""
_FRESH_NS = 20_000_000
"""The age in nanoseconds below which a folder is not cached.

Two changes within this time may leave the same modification time.
"""


class _Folder(NamedTuple):
    """The sub-agents' files in a folder, by session id.

    `time` is the modification time of the folder. `unnamed` holds files without a session id yet.
    """

    time: int
    named: dict[str, list[str]]
    unnamed: list[str]


_known: dict[str, _Folder] = {}
"""The cached contents of folders. A folder is read again when its modification time changes."""


def agents_beside(folder: str) -> Mapping[str, Sequence[str]]:
    """Return the sub-agents' files in a folder of transcripts, by the id of their session."""
    try:
        now = os.stat(folder).st_mtime_ns
    except OSError:
        return {}
    found = _known.get(folder)
    if found and found.time == now:
        if found.unnamed:
            # Files start empty. The folder's time does not change when they get content.
            _known[folder] = found = _sorted_in(found.unnamed, now, found.named)
        return found.named
    names = [entry.path for entry in jsonl_transcripts.listed(folder) if _is_agents(entry.name)]
    found = _sorted_in(names, now, {})
    if now < time.time_ns() - _FRESH_NS:
        _known[folder] = found
    return found.named


def _is_agents(name: str) -> bool:
    return name.startswith("agent-") and jsonl_transcripts.plain(name).endswith(".jsonl")


def _sorted_in(paths: Sequence[str], now: int, named: Mapping[str, Sequence[str]]) -> _Folder:
    found = {id: [*files] for id, files in named.items()}
    unnamed: list[str] = []
    for path in paths:
        ids = _sessions_of(path)
        for id in ids:
            found.setdefault(id, []).append(path)
        if not ids:
            unnamed.append(path)
    return _Folder(now, found, unnamed)


def _sessions_of(path: str) -> set[str]:
    """Return the session ids in the first line of a file, or an empty set if unreadable."""
    try:
        for most in (_HEAD, jsonl_transcripts.ENDS[1]):
            head = jsonl_transcripts.read_head(path, most)
            first = head.partition(b"\n")[0]
            ids = {id.decode("utf-8", "replace") for id in _SESSION.findall(first)}
            if ids or len(head) < most:
                return ids
    except OSError as error:
        warn("%s is passed over: %s", path, why(error))
    return set()
