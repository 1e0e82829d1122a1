"""Build the tree (the list of files) of a new commit: HEAD's tree with some files changed.

Git stores one tree for each folder. Only the trees of the folders that contain the changed files
are read and written. A temporary git index would work too, but its cost grows with the number of
files in the repository. It would also remain on disk if cortext were killed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping

import msgspec

from cortext.git.commit_outcome import GitFailedError, NotRecordedError
from cortext.git.repository import Repository

FILE, PROGRAM = "100644", "100755"
_FOLDER = "40000"
_SUBMODULE = "160000"
_OBJECT_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)")


class TreeEntry(msgspec.Struct, frozen=True):
    """The mode and the object id of a file or folder in a git tree."""

    mode: str
    oid: str


Tree = dict[str, TreeEntry]


class Head(msgspec.Struct, frozen=True):
    """The commit to which git's HEAD points, and the trees of some of its folders.

    `commit` is the id of the commit, or "" before the first commit. `trees` has the tree of each
    folder that was read. The folder "" is the top of the repository.
    """

    commit: str
    trees: dict[str, Tree]

    def entry(self, path: str) -> TreeEntry | None:
        """Return the mode and object id of a path in HEAD; None if HEAD does not have the path.

        The tree of the path's folder must be in `trees`.
        """
        folder, name = os.path.split(path)
        return self.trees[folder].get(name)


class HeadMovedError(Exception):
    """HEAD changed while it was read or used."""


def read_head(repository: Repository, paths: Iterable[str]) -> Head:
    """Read HEAD and the trees of all parent folders of the paths.

    Raises HeadMovedError if HEAD changes meanwhile, and NotRecordedError if a parent is not a
    folder.
    """
    folders = _parent_folders(paths)
    if any("\n" in folder for folder in folders):
        raise NotRecordedError("refused", "the name of a folder contains a line break")
    given = "".join(f"HEAD:{folder}\n" for folder in folders)
    out = repository.git.read("cat-file", "--batch", given=os.fsencode(f"HEAD\n{given}"))
    (commit, data), *objects = _parse_objects(out, len(folders) + 1)
    trees: dict[str, Tree] = {}
    for folder, (oid, data_of_tree) in zip(folders, objects, strict=True):
        expected = _expected_tree_id(data, trees, folder) if commit else ""
        if oid != expected:
            raise HeadMovedError
        trees[folder] = _parse_tree(data_of_tree, len(commit) // 2) if oid else {}
    return Head(commit, trees)


def build_tree(repository: Repository, head: Head, files: Mapping[str, TreeEntry | None]) -> str:
    """Write a new tree to git, and return its object id.

    The new tree is HEAD's tree with some changed files. `files` has the new entry (mode and object
    id) of each changed path; None deletes the file.
    """
    trees = {folder: dict(tree) for folder, tree in head.trees.items()}
    for path, entry in files.items():
        _set_entry(trees, path, entry)
    new_trees: list[tuple[str, bytes]] = []
    for folder in reversed(_parent_folders(files)):
        tree = trees[folder]
        oid = _tree_id(tree, repository.algorithm)
        if folder:
            _set_entry(trees, folder, TreeEntry(_FOLDER, oid) if tree else None)
        if tree or not folder:
            new_trees.append((oid, _mktree_input(tree)))
    given = b"\0".join(listing for _, listing in new_trees) + b"\0"
    out = repository.git.read("mktree", "-z", "--missing", "--batch", given=given)
    if out.decode("ascii").split() != [oid for oid, _ in new_trees]:
        raise GitFailedError("mktree", "git created an unexpected tree")
    return new_trees[-1][0]


def _parent_folders(paths: Iterable[str]) -> list[str]:
    """Return all parent folders of the paths, each folder before its subfolders."""
    folders = {""}
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return sorted(folders, key=lambda folder: (folder.count("/") + bool(folder), folder))


def _set_entry(trees: dict[str, Tree], path: str, entry: TreeEntry | None) -> None:
    folder, name = os.path.split(path)
    if entry is None:
        trees[folder].pop(name, None)
        return
    old = trees[folder].get(name)
    if old is not None and (old.mode == _FOLDER) != (entry.mode == _FOLDER):
        raise NotRecordedError(
            "refused",
            f"{path} changed between file and folder since the last commit",
        )
    trees[folder][name] = entry


def _parse_objects(out: bytes, count: int) -> list[tuple[str, bytes]]:
    """Parse the output of `git cat-file --batch`. Return the id and the content of each object.

    Both are empty for a missing object. `count` is the number of objects in the output.
    """
    objects: list[tuple[str, bytes]] = []
    offset = 0
    for _ in range(count):
        end = out.index(b"\n", offset)
        header = _OBJECT_HEADER.fullmatch(out, offset, end)
        offset = end + 1
        if header is None:
            objects.append(("", b""))
            continue
        size = int(header[3])
        objects.append((header[1].decode("ascii"), out[offset : offset + size]))
        offset += size + 1
    return objects


def _expected_tree_id(commit: bytes, trees: dict[str, Tree], folder: str) -> str:
    """Return the object id that the tree of a folder must have.

    The tree of the parent folder contains this id. For the top folder, the commit contains the id.
    `commit` is the content of the commit, and `trees` has the trees of the parent folders. Return
    "" if the parent folder has no entry with the folder's name. Raises NotRecordedError if this
    entry is not a folder.
    """
    if not folder:
        return commit.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")
    parent, name = os.path.split(folder)
    entry = trees[parent].get(name)
    if entry is None:
        return ""
    if entry.mode != _FOLDER:
        what = "a submodule" if entry.mode == _SUBMODULE else "not a folder"
        raise NotRecordedError("refused", f"{folder} is {what} in the last commit")
    return entry.oid


def _parse_tree(data: bytes, id_size: int) -> Tree:
    """Parse the content of a tree object. `id_size` is the length of an object id in bytes."""
    tree: Tree = {}
    offset = 0
    while offset < len(data):
        space, end = data.index(b" ", offset), data.index(b"\0", offset)
        oid = data[end + 1 : end + 1 + id_size].hex()
        # Some old programs wrote modes with leading zeros.
        tree[os.fsdecode(data[space + 1 : end])] = TreeEntry(f"{int(data[offset:space], 8):o}", oid)
        offset = end + 1 + id_size
    return tree


def _tree_id(tree: Tree, algorithm: str) -> str:
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


def _mktree_input(tree: Tree) -> bytes:
    """Return a tree in the input format of `git mktree`."""
    kinds = {_FOLDER: "tree", _SUBMODULE: "commit"}
    rows = [
        f"{entry.mode} {kinds.get(entry.mode, 'blob')} {entry.oid}\t{name}\0"
        for name, entry in tree.items()
    ]
    return os.fsencode("".join(rows))
