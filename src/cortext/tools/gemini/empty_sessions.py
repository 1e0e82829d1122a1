"""The sessions of Gemini CLI that have no messages yet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from cortext.durability.read_files import read_first_line
from cortext.errors import why
from cortext.tools.jsonl_transcripts import listed
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.transcript_folders import warn

_HEAD = re.compile(rb'"sessionId"\s*:\s*"([A-Za-z0-9][A-Za-z0-9._-]{0,127})"')
_LONGEST_HEAD = 1 << 16


def empty_sessions(
    sources: Iterable[TranscriptSource], since: float
) -> Iterator[tuple[float, str]]:
    """Yield the modification time and the id of each session without messages.

    The command `/clear` starts such a session. Only sessions that changed at or after the time
    `since` are yielded. `sources` are the sessions with messages, and only their folders are
    searched. All times are in seconds since 1970.
    """
    files = {source.path for source in sources}
    for folder in {os.path.dirname(path) for path in files}:
        for entry in listed(folder):
            path = entry.path
            if path in files or not path.endswith(".jsonl"):
                continue
            try:
                when = entry.stat().st_mtime
                head = read_first_line(path, _LONGEST_HEAD) if when >= since else b""
            except OSError as error:
                warn("skipped %s: %s", path, why(error))
                continue
            if match := _HEAD.search(head):
                yield when, match[1].decode()
