"""Which conversations were had in a folder, and which are copies of one.

This module is imported by every list, so it imports next to nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from cortext.catalog.row import ConversationRow


def in_folder(rows: Sequence[ConversationRow], folder: str) -> list[ConversationRow]:
    """Those that were had in a folder or below it; "" is anywhere."""
    return [*filter(is_in_folder(folder), rows)] if folder else list(rows)


def is_in_folder(folder: str) -> Callable[[ConversationRow], bool]:
    """Whether a row was had in a folder or below it, by the name that it is given or its real
    one."""
    named = os.path.abspath(folder)
    starts = tuple({f"{each.rstrip('/')}/" for each in (named, os.path.realpath(named))})
    return lambda row: f"{row.folder}/".startswith(starts)


def without_copies(rows: list[ConversationRow], root: str = "") -> list[ConversationRow]:
    """Each conversation once: of those that copies of a workspace have, or two checkouts of it, one
    stays, which is that of `root` if it has one, and else the longest. Copies have the same id and
    began at the same time; one in which more was said than in that of `root` stays too."""
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
    # Copies nearly always have a longer name than what they were made from.
    return row.workspace == root, row.messages, row.last_active, -len(row.workspace)
