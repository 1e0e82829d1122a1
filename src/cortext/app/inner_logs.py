"""What adapters keep beside a program's session: the logs of its sub-agents, and state that only
its framework reads. Lists do not show them."""

from __future__ import annotations

import os
from functools import lru_cache

from cortext.durability.read import read_first_line
from cortext.formats.log import decode_head_line
from cortext.index.listed import DOCUMENT, Listed, facts, tool_root

_LONGEST_HEAD = 1 << 16


def agents_of(row: Listed) -> list[Listed]:
    """The sub-agents of a program's session, as rows that can be read and masked."""
    if row.tool != DOCUMENT or not row.is_log:
        return []
    folder = os.path.join(os.path.dirname(row.path), "subagents")
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return []
    root, text = tool_root(DOCUMENT, ""), facts(kind="", title="")
    return [
        Listed(root, f"{folder}/{id}.jsonl", id, "paused", 0, text)
        for id in _by_parent(folder, changed).get(row.key, ())
    ]


def state_of(row: Listed) -> str | None:
    """The file with the state of a framework, in which what was said stands packed."""
    path = os.path.join(os.path.dirname(row.path), "checkpoints", os.path.basename(row.path))
    return path if row.tool == DOCUMENT and row.is_log and os.path.isfile(path) else None


@lru_cache(maxsize=8)
def _by_parent(folder: str, _changed: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            try:
                line = read_first_line(f"{folder}/{name}", _LONGEST_HEAD)
                parent = str(decode_head_line(line, []).get("parent_id", ""))
            except (OSError, ValueError):
                continue  # `doctor` names what cannot be read
            found.setdefault(parent, []).append(name.removesuffix(".jsonl"))
    return found
