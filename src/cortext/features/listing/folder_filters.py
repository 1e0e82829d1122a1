"""Filter rows by folder, and drop copies of the same conversation.

Every list imports this module, so it imports very little.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from cortext.catalog.row import ConversationRow


def in_folder(rows: Sequence[ConversationRow], folder: str) -> list[ConversationRow]:
    """Return the rows that took place in a folder or below it; all rows if `folder` is ""."""
    return [*filter(is_in_folder(folder), rows)] if folder else list(rows)


def is_in_folder(folder: str) -> Callable[[ConversationRow], bool]:
    """Return a function that checks whether a row took place in a folder or below it.

    Symbolic links in the given path are resolved: a row matches with or without them.
    """
    named = os.path.abspath(folder)
    starts = tuple({f"{each.rstrip('/')}/" for each in (named, os.path.realpath(named))})
    return lambda row: f"{row.folder}/".startswith(starts)


def without_copies(rows: list[ConversationRow], root: str = "") -> list[ConversationRow]:
    """Return the rows without copies of the same conversation.

    Two checkouts of a workspace, for example, have such copies. Copies have the same path in their
    workspace and the same start time. The copy in the workspace `root` stays, otherwise the copy
    with most messages. A copy with more messages than the one in `root` stays as well.
    """
    ids = Counter([row.path for row in rows if row.workspace.startswith("/")])
    if len(ids) == ids.total():
        return rows
    several = [row for row in rows if ids[row.path] > 1]
    best: dict[tuple[str, int], ConversationRow] = {}
    for row in several:
        key = row.path, row.created_at
        best[key] = max(best.get(key, row), row, key=lambda each: _rank(each, root))
    copies = {
        row.identity
        for row in several
        if row is not (other := best[row.path, row.created_at]) and row.messages <= other.messages
    }
    return [row for row in rows if row.identity not in copies] if copies else rows


def _rank(row: ConversationRow, root: str) -> tuple[bool, int, int, int]:
    # A copied workspace nearly always has a longer path than its original.
    return row.workspace == root, row.messages, row.last_active, -len(row.workspace)
