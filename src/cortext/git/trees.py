"""Build HEAD's tree with some files changed, from only the trees that contain these files.

A temporary index of HEAD would work too. But its cost grows with the number of files in the
repository, and it would remain on disk if cortext were killed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cortext.git.commit_outcome import GitFailed, NotRecorded
from cortext.git.repository import Repository

FILE, PROGRAM = "100644", "100755"
_FOLDER = "40000"
_SUBMODULE = "160000"
_FOUND = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)")


class TreeEntry(NamedTuple):
    """The mode and the object id of a file or folder in a git tree."""

    mode: str
    oid: str


Tree = dict[str, TreeEntry]


class Head(NamedTuple):
    """The commit of HEAD, or "" before the first commit, and its trees by folder.

    The folder "" is the top of the repository.
    """

    commit: str
    trees: dict[str, Tree]

    def entry(self, path: str) -> TreeEntry | None:
        """Return the entry of a path in HEAD; None if HEAD does not have the path."""
        folder, name = os.path.split(path)
        return self.trees[folder].get(name)


class HeadMovedError(Exception):
    """HEAD changed while it was read or used."""


def read_head(repository: Repository, paths: Iterable[str]) -> Head:
    """Read HEAD and the trees of all parent folders of the paths.

    Raises HeadMovedError if HEAD changes meanwhile, and NotRecorded if a parent is not a folder.
    """
    folders = _folders(paths)
    if any("\n" in folder for folder in folders):
        raise NotRecorded("refused", "a folder's name has a line break")
    given = "".join(f"HEAD:{folder}\n" for folder in folders)
    out = repository.git.read("cat-file", "--batch", given=os.fsencode(f"HEAD\n{given}"))
    (commit, data), *objects = _objects(out, len(folders) + 1)
    trees: dict[str, Tree] = {}
    for folder, (oid, data_of_tree) in zip(folders, objects, strict=True):
        expected = _expected(data, trees, folder) if commit else ""
        if oid != expected:
            raise HeadMovedError
        trees[folder] = _parse(data_of_tree, len(commit) // 2) if oid else {}
    return Head(commit, trees)


def build_tree(repository: Repository, head: Head, files: Mapping[str, TreeEntry | None]) -> str:
    """Write HEAD's tree with these files changed to git, and return the id of the new tree.

    An entry of None deletes the file.
    """
    trees = {folder: dict(tree) for folder, tree in head.trees.items()}
    for path, entry in files.items():
        _put(trees, path, entry)
    made: list[tuple[str, bytes]] = []
    for folder in reversed(_folders(files)):
        tree = trees[folder]
        oid = _id(tree, repository.algorithm)
        if folder:
            _put(trees, folder, TreeEntry(_FOLDER, oid) if tree else None)
        if tree or not folder:
            made.append((oid, _listing(tree)))
    given = b"\0".join(listing for _, listing in made) + b"\0"
    out = repository.git.read("mktree", "-z", "--missing", "--batch", given=given)
    if out.decode("ascii").split() != [oid for oid, _ in made]:
        raise GitFailed("mktree", "it made another tree than it was asked for")
    return made[-1][0]


def _folders(paths: Iterable[str]) -> list[str]:
    """Return all parent folders of the paths, each folder before its subfolders."""
    found = {""}
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found, key=lambda folder: (folder.count("/") + bool(folder), folder))


def _put(trees: dict[str, Tree], path: str, entry: TreeEntry | None) -> None:
    folder, name = os.path.split(path)
    if entry is None:
        trees[folder].pop(name, None)
        return
    old = trees[folder].get(name)
    if old is not None and (old.mode == _FOLDER) != (entry.mode == _FOLDER):
        raise NotRecorded("refused", f"{path} is something else in the last commit")
    trees[folder][name] = entry


def _objects(out: bytes, count: int) -> list[tuple[str, bytes]]:
    """Parse the output of `git cat-file` into ids and contents. A missing object has neither."""
    objects: list[tuple[str, bytes]] = []
    at = 0
    for _ in range(count):
        end = out.index(b"\n", at)
        found = _FOUND.fullmatch(out, at, end)
        at = end + 1
        if found is None:
            objects.append(("", b""))
            continue
        size = int(found[3])
        objects.append((found[1].decode("ascii"), out[at : at + size]))
        at += size + 1
    return objects


def _expected(commit: bytes, trees: dict[str, Tree], folder: str) -> str:
    """Return the id of a folder's tree according to its parent tree; "" if the folder is missing.

    Raises NotRecorded if the entry in the parent is not a folder.
    """
    if not folder:
        return commit.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")
    parent, name = os.path.split(folder)
    entry = trees[parent].get(name)
    if entry is None:
        return ""
    if entry.mode != _FOLDER:
        what = "a submodule" if entry.mode == _SUBMODULE else "no folder"
        raise NotRecorded("refused", f"{folder} is {what} in the last commit")
    return entry.oid


def _parse(data: bytes, size: int) -> Tree:
    tree: Tree = {}
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        oid = data[end + 1 : end + 1 + size].hex()
        # Some old programs wrote modes with leading zeros.
        tree[os.fsdecode(data[space + 1 : end])] = TreeEntry(f"{int(data[at:space], 8):o}", oid)
        at = end + 1 + size
    return tree


def _id(tree: Tree, algorithm: str) -> str:
    """Return the id that git computes for a tree. Git sorts folders as if they ended with "/"."""
    rows = sorted(
        (os.fsencode(name) + (b"/" if entry.mode == _FOLDER else b""), name, entry)
        for name, entry in tree.items()
    )
    data = b"".join(
        b"%s %s\0%s" % (entry.mode.encode(), os.fsencode(name), bytes.fromhex(entry.oid))
        for _, name, entry in rows
    )
    digest = hashlib.new(algorithm, usedforsecurity=False)
    digest.update(b"tree %d\0" % len(data) + data)
    return digest.hexdigest()


def _listing(tree: Tree) -> bytes:
    """Return a tree in the input format of `git mktree`."""
    kinds = {_FOLDER: "tree", _SUBMODULE: "commit"}
    rows = [
        f"{entry.mode} {kinds.get(entry.mode, 'blob')} {entry.oid}\t{name}\0"
        for name, entry in tree.items()
    ]
    return os.fsencode("".join(rows))
