"""Choose the files of a conversation to commit, and store their contents in git."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from cortext.durability.read_files import read_range
from cortext.errors import CortextError, reason_of
from cortext.git.commit_outcome import GitFailed, NotAllowed, NotRecorded
from cortext.git.repository import Repository
from cortext.git.run_git import reason
from cortext.git.trees import FILE, PROGRAM, TreeEntry

_AT_ONCE = 64
_ODD = (errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
"""The errors that opening a link, a file below a link, or a socket gives."""


class Hashed(NamedTuple):
    """The files of a conversation after their contents were stored in git.

    `entries` has the git entries of the stored files, by path. `gone` has the paths without a file.
    `odd` has the paths of links, sockets and the like, which are not stored.
    """

    entries: dict[str, TreeEntry]
    gone: list[str]
    odd: list[str]


def names_inside(folder: str, files: Sequence[str]) -> list[str]:
    """Return the paths of files relative to `folder`, sorted and each once.

    Raises CortextError for a file outside the folder or inside a `.git`.
    """
    names = [os.path.relpath(file, folder) for file in files]
    for name, file in zip(names, files, strict=True):
        parts = name.split(os.sep)
        if parts[0] in (os.pardir, os.curdir) or ".git" in (part.lower() for part in parts):
            raise CortextError(f"{file} is not a file of the conversation in {folder}")
    return sorted(set(names))


def names_elsewhere(folder: str, names: Sequence[str]) -> list[str]:
    """Return the names below a symbolic link, or in another repository inside the folder."""
    found: list[str] = []
    for name in names:
        parent = os.path.dirname(name)
        while parent and not _leads_elsewhere(os.path.join(folder, parent)):
            parent = os.path.dirname(parent)
        if parent:
            found.append(name)
    return found


def _leads_elsewhere(folder: str) -> bool:
    return os.path.islink(folder) or os.path.lexists(os.path.join(folder, ".git"))


def ignored_paths(repository: Repository, paths: Sequence[str]) -> list[str]:
    """Return the paths that git ignores. Tracked files are never ignored."""
    if not paths:
        return []
    # "./" prevents git from treating a leading colon as pathspec magic.
    given = b"".join(b"./%s\0" % os.fsencode(path) for path in paths)
    result = repository.git.run("check-ignore", "-z", "--stdin", given=given)
    if result.code == 1:
        return []
    if result.code:
        raise GitFailed("check-ignore", reason(result.err))
    return [os.fsdecode(name)[2:] for name in result.out.split(b"\0")[:-1]]


def refuse_required_filters(repository: Repository, paths: Sequence[str]) -> None:
    """Raise NotRecorded if a file needs a required filter, such as git-crypt.

    A required filter must run before git stores the content, and cortext runs no filters. Without
    an optional filter, git stores the content unchanged.
    """
    if not repository.must_run:
        return
    given = b"".join(b"%s\0" % os.fsencode(path) for path in paths)
    out = repository.git.read("check-attr", "-z", "--stdin", "filter", given=given)
    needed = repository.must_run.intersection(os.fsdecode(out).split("\0")[2::3])
    if needed:
        raise NotRecorded(
            "refused",
            f"its files need the filter {min(needed)}, and cortext runs no program that a "
            "repository names; commit them yourself",
        )


def hash_files(
    repository: Repository,
    folder: str,
    paths: dict[str, str],
    allow: Callable[[str, bytes], bool] | None = None,
) -> Hashed:
    """Store the contents of files in git, unchanged, and return their entries.

    `paths` maps each name in the folder to its path in the repository. `allow` is called with each
    name and the bytes to store. If it returns False for one file, nothing is stored and NotAllowed
    is raised. If a file cannot be read, nothing is stored and NotRecorded is raised.
    """
    hashed = Hashed({}, [], [])
    contents: dict[str, bytes] = {}
    modes: dict[str, str] = {}
    for name, path in paths.items():
        try:
            contents[path], modes[path] = _read_inside(folder, name)
        except FileNotFoundError:
            hashed.gone.append(path)
        except OSError as error:
            if error.errno not in _ODD:
                raise NotRecorded("failed", f"could not read {path}: {reason_of(error)}") from error
            hashed.odd.append(path)
    if allow is not None:
        refused = [
            path
            for name, path in paths.items()
            if path in contents and not allow(name, contents[path])
        ]
        if refused:
            raise NotAllowed(refused)
    found = list(contents)
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        for path, oid in zip(some, _hash(repository, [contents[p] for p in some]), strict=True):
            hashed.entries[path] = TreeEntry(modes[path], oid)
    return hashed


def _hash(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Store contents in git, and return their object ids.

    Git reads them from unnamed temporary files, so that it stores exactly these bytes.
    """
    with ExitStack() as opened:
        try:
            files = [opened.enter_context(_holding(data)) for data in contents]
        except OSError as error:
            why = f"could not write a temporary file for git: {reason_of(error)}"
            raise NotRecorded("failed", why) from error
        fds = [file.fileno() for file in files]
        given = [f"/dev/fd/{fd}" for fd in fds]
        out = repository.git.read("hash-object", "-w", "--no-filters", "--", *given, fds=fds)
    return out.decode("ascii").split()


def _holding(data: bytes) -> IO[bytes]:
    """Return an open unnamed file with the data, positioned at its start."""
    file = TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        file.write(data)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _read_inside(folder: str, name: str) -> tuple[bytes, str]:
    """Return content and git mode of a regular file in a folder, without following links."""
    fd = _open_inside(folder, name)
    try:
        found = os.fstat(fd)
        data = read_range(fd, 0, found.st_size)
    finally:
        os.close(fd)
    return data, PROGRAM if found.st_mode & stat.S_IXUSR else FILE


def _open_inside(folder: str, name: str) -> int:
    """Open a regular file in a folder without following links, and return its descriptor."""
    *parents, last = name.split(os.sep)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for parent in parents:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = os.open(parent, flags, dir_fd=at)
            os.close(at)
            at = below
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(last, flags, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ENXIO, "it is no regular file", name)
    return fd
