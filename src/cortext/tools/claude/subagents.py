"""The files of Claude Code's sub-agents that stand beside transcripts, as older versions wrote
them: only their first lines tell whose they are."""

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
"""Bytes that nearly always have the session; what an agent was told may be far longer."""
_FRESH_NS = 20_000_000
"""A folder this young may get another file without a new time."""


class _Folder(NamedTuple):
    """The files of a folder by session, and those that did not yet say theirs, at a time."""

    time: int
    named: dict[str, list[str]]
    unnamed: list[str]


_known: dict[str, _Folder] = {}
"""What was found: a folder is read again when something was added to it."""


def agents_beside(folder: str) -> Mapping[str, Sequence[str]]:
    """The files of sub-agents in a folder of transcripts, by the ids of the sessions."""
    try:
        now = os.stat(folder).st_mtime_ns
    except OSError:
        return {}
    found = _known.get(folder)
    if found and found.time == now:
        if found.unnamed:
            # Each is made empty, which is all that the folder's time tells.
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
    """The session that the first line of a file names."""
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
