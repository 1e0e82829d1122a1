"""Filter rows by folder, and drop copies of the same conversation.

Every list imports this module, so it imports very little.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.git.worktrees import same_folders
from cortext.workspace.moved_folders import moved_folders


def in_folder(rows: Sequence[ConversationRow], folder: str) -> list[ConversationRow]:
    """Return the rows that took place in a folder or below it; all rows if `folder` is "".

    `folder` is the text that a user typed after `--in`: a path or the name of a project. For
    details see `is_in_project`.
    """
    return [*filter(is_in_project(folder), rows)] if folder else list(rows)


def below_folder(rows: Sequence[ConversationRow], folder: str) -> list[ConversationRow]:
    """Return the rows that took place in this folder or below it; all rows if `folder` is "".

    Other worktrees of the same repository do not count.
    """
    return [*filter(is_in_folder(folder), rows)] if folder else list(rows)


def is_in_folder(folder: str) -> Callable[[ConversationRow], bool]:
    """Return a function that checks whether a row took place in a folder or below it.

    `folder` may contain symbolic links. A row matches if its own folder is below `folder` as it is
    written, or below `folder` with all links resolved.
    """
    absolute = os.path.abspath(folder)
    prefixes = tuple({f"{each.rstrip('/')}/" for each in (absolute, os.path.realpath(absolute))})
    return lambda row: f"{row.folder}/".startswith(prefixes)


def is_in_project(folder: str) -> Callable[[ConversationRow], bool]:
    """Return a function that checks whether a row took place in a project or below its folder.

    `folder` is the text that a user typed, usually a path. The worktrees of one git repository
    belong together: a row also matches if it took place in the same folder of another worktree. If
    the user declared that the folder was moved, its new folder counts too. If `folder` is a
    relative path that does not exist, a row also matches if its path contains this text. For
    example, the text may be the name of a project in a list.
    """
    folder = os.path.expanduser(folder)
    absolute = os.path.abspath(folder)
    current = moved_folders().follow(absolute)
    tests = [is_in_folder(each) for each in same_folders(os.path.realpath(current))]
    tests += [is_in_folder(each) for each in {current, absolute}]
    if not os.path.isabs(folder) and not os.path.lexists(absolute):
        named = f"/{folder.strip('/')}/"
        tests.append(lambda row: named in f"{row.folder}/")
    return lambda row: any(test(row) for test in tests)


def without_copies(rows: list[ConversationRow], root: str = "") -> list[ConversationRow]:
    """Return the rows, but only the best of several copies of the same conversation.

    Copies exist, for example, in two checkouts of a workspace. They have the same path in their
    workspace and the same start time. The best copy is the first of these that exists:

    - the copy in the workspace `root`
    - a personal copy that took place in the folder `root`, because lists of `root` show it too
    - the copy with the most messages

    A copy with more messages than the best copy is returned too.
    """
    path_counts = Counter([row.path for row in rows if row.workspace.startswith("/")])
    if len(path_counts) == path_counts.total():
        return rows
    duplicates = [row for row in rows if path_counts[row.path] > 1]
    personal, took_place_in_root = paths.personal_workspace(), is_in_folder(root)

    def rank(row: ConversationRow) -> tuple[bool, bool, int, int, int]:
        is_listed_in_root = bool(root) and row.workspace == personal and took_place_in_root(row)
        # A copied workspace nearly always has a longer path than its original.
        path_length = len(row.workspace)
        return row.workspace == root, is_listed_in_root, row.messages, row.last_active, -path_length

    best: dict[tuple[str, int], ConversationRow] = {}
    for row in duplicates:
        key = row.path, row.created_at
        best[key] = max(best.get(key, row), row, key=rank)
    copies = {
        row.identity
        for row in duplicates
        if row is not (other := best[row.path, row.created_at]) and row.messages <= other.messages
    }
    return [row for row in rows if row.identity not in copies] if copies else rows
