"""Guess which sessions OpenCode has open now, and search a session for a text."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortext.errors import CortextError, why
from cortext.tools.opencode.storage import Store, Tree, read_database
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.running_sessions import TICK
from cortext.tools.system_processes import find_process, running_since
from cortext.tools.transcript_folders import warn

_PATIENCE = 0.5
"""The number of seconds to wait for a locked database."""


def latest_sessions(database: str, folder: str, pids: Sequence[int]) -> list[str]:
    """Return the ids of the sessions that OpenCode processes probably have open in a folder.

    `database` is the path of OpenCode's database. `pids` are the ids of the processes. The result
    has the sessions of `folder` that changed last, at most one for each process. Sessions that last
    changed before the first of the processes started are left out.
    """
    processes = [process for pid in pids if (process := find_process(pid))]
    since = min((running_since(process) for process in processes), default=0.0)
    if not since:
        return []  # the processes have ended meanwhile
    try:
        rows = read_database(
            database, lambda db: db.since(int((since - TICK) * 1000)), patience=_PATIENCE
        )
    except (OSError, CortextError) as error:
        warn("skipped %s: %s", database, why(error))
        return []
    return [id for id, cwd in rows if _is_folder(cwd, folder)][: len(processes)]


def _is_folder(path: str, folder: str) -> bool:
    try:
        return os.path.realpath(path) == folder
    except ValueError:
        return False  # a database may contain text that is not a path


def has_text(source: TranscriptSource, text: bytes) -> bool:
    """Return whether `text` occurs in a message of a session.

    Each message consists of parts, such as texts and tool calls. The JSON of the parts is searched,
    as OpenCode stored it. The result is False for a session in the archive.
    """

    def search(store: Store) -> bool:
        messages = list(store.messages(source.id))[::-1]
        return any(text in p.data for m in messages for p in store.parts(source.id, m.id))

    if source.path.endswith(".db"):
        return read_database(source.path, search)
    return source.path.endswith(".json") and search(Tree(source.path))
