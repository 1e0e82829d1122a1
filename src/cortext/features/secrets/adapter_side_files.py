"""Find the extra files that framework adapters store beside the sessions of programs.

An adapter stores the sessions of an agent framework. The extra files are logs of sub-agents, state
that sessions of Google's ADK share, and checkpoints of LangGraph. Lists of conversations do not
show these files.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, cast

from cortext import paths
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.durability.read_files import read_first_line
from cortext.formats.log import decode_head_line
from cortext.model.framework_key_ids import id_of
from cortext.workspace.known_folders import known_workspaces, program_folders

_AGENTS, _STATE, _CHECKPOINTS = _FOLDERS = "subagents", "state", "checkpoints"
_LONGEST_HEAD = 1 << 16
_SUFFIX = ".jsonl"


def agents_of(row: ConversationRow) -> list[ConversationRow]:
    """Return a row for the log of each sub-agent of a program's session.

    The result is [] if `row` is not the session of a program.
    """
    if row.tool != DOCUMENT or not row.is_log:
        return []
    folder = os.path.join(os.path.dirname(row.path), _AGENTS)
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return []
    found = _agents_by_parent(folder, changed).get(row.key, ())
    return [as_row(f"{folder}/{id}{_SUFFIX}") for id in found]


def shared_states_of(row: ConversationRow) -> list[ConversationRow]:
    """Return a row for each state file that a session of Google's ADK shares with other sessions.

    All sessions of an app share one file. All sessions of the same app and user share another file.
    """
    folder = os.path.join(os.path.dirname(row.path), _STATE)
    if row.tool != DOCUMENT or not row.is_log or not os.path.isdir(folder):
        return []
    try:
        metadata: Any = decode_head_line(read_first_line(row.path, _LONGEST_HEAD), []).get(
            "metadata"
        )
    except (OSError, ValueError):
        return []  # the scan of the session itself reports that it cannot be read
    names = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    app, user = str(names.get("app_name", "")), str(names.get("user_id", ""))
    found = [f"{folder}/{id}{_SUFFIX}" for id in (id_of("app", app), id_of("user", app, user))]
    return [as_row(path) for path in found if os.path.isfile(path)]


def checkpoints_of(row: ConversationRow) -> str | None:
    """Return the path of the LangGraph checkpoints of a session; None if there are none."""
    name = os.path.basename(row.path)
    path = os.path.join(os.path.dirname(row.path), _CHECKPOINTS, name)
    return path if row.tool == DOCUMENT and row.is_log and os.path.isfile(path) else None


def adapter_folders() -> list[str]:
    """Return all existing folders in which adapters store extra files beside sessions."""
    homes = [*program_folders(), paths.document_dir()]
    for root in known_workspaces():
        homes += [paths.project_document_dir(root), f"{root}/.workspace"]
    found = [f"{home}/{name}" for home in homes for name in _FOLDERS]
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def list_adapter_files() -> list[str]:
    """Return the paths of all extra files that adapters store beside sessions."""
    found = (f"{each}/{name}" for each in adapter_folders() for name in sorted(os.listdir(each)))
    return [path for path in found if path.endswith(_SUFFIX) and os.path.isfile(path)]


def is_state(path: str) -> bool:
    return os.path.basename(os.path.dirname(path)) == _STATE


def is_checkpoints(path: str) -> bool:
    """Return whether a file contains LangGraph checkpoints, judged by the name of its folder.

    A file in the trash is no longer in that folder, so it is judged by its first line.
    """
    if not path.startswith(f"{paths.trash()}/"):
        return os.path.basename(os.path.dirname(path)) == _CHECKPOINTS
    try:
        head = decode_head_line(read_first_line(path, _LONGEST_HEAD), [])
    except (OSError, ValueError):
        return False
    return head.get("kind") == _CHECKPOINTS


def as_row(path: str) -> ConversationRow:
    """Return a conversation row for an extra log of an adapter, to scan and redact the log."""
    id = os.path.basename(path).removesuffix(_SUFFIX)
    return ConversationRow(tool=DOCUMENT, path=path, key=id, status="paused", last_active=0)


@lru_cache(maxsize=8)
def _agents_by_parent(folder: str, _changed: int) -> dict[str, list[str]]:
    """Return the ids of the sub-agent logs in a folder, by the id of their parent session.

    Results are cached. `_changed` is the modification time of the folder: after a change of the
    folder, the cache has no result for the new time, so the folder is read again.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(_SUFFIX):
            try:
                line = read_first_line(f"{folder}/{name}", _LONGEST_HEAD)
                parent = str(decode_head_line(line, []).get("parent_id", ""))
            except (OSError, ValueError):
                continue  # `doctor` reports files that cannot be read
            found.setdefault(parent, []).append(name.removesuffix(_SUFFIX))
    return found
