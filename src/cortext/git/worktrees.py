"""Find the worktrees of a git repository by reading its files, without running git."""

from __future__ import annotations

import os

from cortext.durability.read_files import read_first_line

_MAX_SIZE = 65_536
"""The number of bytes that are read of a file with a path."""
_GITDIR = "gitdir:"


def same_folders(folder: str) -> list[str]:
    """Return a folder, and the same folder in the other worktrees of its repository.

    For example, `src` in the main worktree belongs together with `src` in every other worktree. The
    result has only `folder` if it is in no repository, or if the repository has only one worktree.
    """
    root = folder
    while not os.path.lexists(f"{root}/.git"):
        parent = os.path.dirname(root)
        if parent == root:
            return [folder]
        root = parent
    common = _common_folder(f"{root}/.git")
    if common is None:
        return [folder]
    rest = folder[len(root) :]
    roots = dict.fromkeys((root, *_worktrees(common)))
    return [f"{each}{rest}" for each in roots]


def _common_folder(dot_git: str) -> str | None:
    """Return the git folder that all worktrees of a repository share.

    This is usually `.git` in the main worktree. `dot_git` is the path of the folder or file `.git`
    in a worktree. Return None if `dot_git` does not lead to a repository.
    """
    if os.path.isdir(dot_git):
        return dot_git
    line = _read_path(dot_git)
    if not line.startswith(_GITDIR) or "\0" in line:
        return None
    own = os.path.join(os.path.dirname(dot_git), line.removeprefix(_GITDIR).strip())
    shared = _read_path(f"{own}/commondir")
    # A submodule also has a file `.git`, but it shares nothing with other worktrees.
    return os.path.normpath(os.path.join(own, shared)) if shared else os.path.normpath(own)


def _worktrees(common: str) -> list[str]:
    """Return the root folders of the worktrees that share the folder `common`."""
    try:
        names = sorted(os.listdir(f"{common}/worktrees"))
    except OSError:
        names = []
    folders = [f"{common}/worktrees/{name}" for name in names]
    links = [(folder, _read_path(f"{folder}/gitdir")) for folder in folders]
    main = [os.path.dirname(common)] if os.path.basename(common) == ".git" else []
    # Since git 2.48, a path can be relative to the folder that contains the file.
    return main + [
        os.path.dirname(os.path.normpath(os.path.join(folder, link)))
        for folder, link in links
        if link
    ]


def _read_path(path: str) -> str:
    """Return the path in the first line of a regular file; "" if the file cannot be read."""
    try:
        return os.fsdecode(read_first_line(path, _MAX_SIZE)).strip()
    except OSError:
        return ""
