"""Choose the files of a conversation to commit, and store their contents in git."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

import msgspec

from cortext.durability.read_files import read_range
from cortext.errors import CortextError, reason_of
from cortext.git.commit_outcome import GitFailedError, NotAllowedError, NotRecordedError
from cortext.git.repository import Repository
from cortext.git.run_git import reason
from cortext.git.trees import FILE, PROGRAM, TreeEntry

_BATCH_SIZE = 64
_NOT_REGULAR_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
"""The error numbers for opening a link, a file below a link, or a socket."""


class HashedFiles(msgspec.Struct, frozen=True):
    """The files of a conversation after their contents were stored in git.

    `entries` has the git entry (mode and object id) of each stored file, by path. `gone` has the
    paths at which no file exists. `odd` has the paths of links, sockets and other special files,
    which are not stored.
    """

    entries: dict[str, TreeEntry]
    gone: list[str]
    odd: list[str]


def relative_names(folder: str, files: Sequence[str]) -> list[str]:
    """Return the paths of files relative to `folder`, sorted and without duplicates.

    Raises CortextError for a file outside the folder or inside a `.git`.
    """
    names = [os.path.relpath(file, folder) for file in files]
    for name, file in zip(names, files, strict=True):
        parts = name.split(os.sep)
        if parts[0] in (os.pardir, os.curdir) or ".git" in (part.lower() for part in parts):
            raise CortextError(f"{file} is not a file of the conversation in {folder}")
    return sorted(set(names))


def names_outside_repository(folder: str, names: Sequence[str]) -> list[str]:
    """Return the names of the files that do not belong to the repository of `folder`.

    Such a file is below a symbolic link, or in another repository inside the folder. `names` and
    the result have paths relative to `folder`.
    """
    elsewhere: list[str] = []
    for name in names:
        parent = os.path.dirname(name)
        while parent and not _leads_elsewhere(os.path.join(folder, parent)):
            parent = os.path.dirname(parent)
        if parent:
            elsewhere.append(name)
    return elsewhere


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
        raise GitFailedError("check-ignore", reason(result.err))
    return [os.fsdecode(name)[2:] for name in result.out.split(b"\0")[:-1]]


def refuse_required_filters(repository: Repository, paths: Sequence[str]) -> None:
    """Raise NotRecordedError if a file needs a required filter, such as git-crypt.

    A required filter must run before git stores the content, and cortext runs no filters. An
    optional filter is skipped: git stores the content as it is on disk.
    """
    if not repository.required_filters:
        return
    given = b"".join(b"%s\0" % os.fsencode(path) for path in paths)
    out = repository.git.read("check-attr", "-z", "--stdin", "filter", given=given)
    needed = repository.required_filters.intersection(os.fsdecode(out).split("\0")[2::3])
    if needed:
        raise NotRecordedError(
            "refused",
            f"the files need the git filter {min(needed)}, but cortext does not run programs that "
            "a repository configures; commit the files yourself",
        )


def hash_files(
    repository: Repository,
    folder: str,
    paths: dict[str, str],
    allow: Callable[[str, bytes], bool] | None = None,
) -> HashedFiles:
    """Store the contents of files in git, byte for byte, and return their git entries.

    `paths` maps the name of each file in `folder` to its path in the repository. `allow` is called
    with the name of each file and the bytes to store. Raises NotAllowedError if `allow` returns
    False for a file, and NotRecordedError if a file cannot be read. In both cases, nothing is
    stored.
    """
    hashed = HashedFiles({}, [], [])
    contents: dict[str, bytes] = {}
    modes: dict[str, str] = {}
    for name, path in paths.items():
        try:
            contents[path], modes[path] = _read_inside(folder, name)
        except FileNotFoundError:
            hashed.gone.append(path)
        except OSError as error:
            if error.errno not in _NOT_REGULAR_ERRORS:
                raise NotRecordedError(
                    "failed", f"could not read {path}: {reason_of(error)}"
                ) from error
            hashed.odd.append(path)
    if allow is not None:
        refused = [
            path
            for name, path in paths.items()
            if path in contents and not allow(name, contents[path])
        ]
        if refused:
            raise NotAllowedError(refused)
    readable = list(contents)
    for start in range(0, len(readable), _BATCH_SIZE):
        batch = readable[start : start + _BATCH_SIZE]
        for path, oid in zip(
            batch, _store_contents(repository, [contents[p] for p in batch]), strict=True
        ):
            hashed.entries[path] = TreeEntry(modes[path], oid)
    return hashed


def _store_contents(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Store contents in git, and return their object ids.

    Git reads the contents from temporary files, because the files on disk may change meanwhile.
    """
    with ExitStack() as opened:
        try:
            files = [opened.enter_context(_temporary_file(data)) for data in contents]
        except OSError as error:
            why = f"could not write a temporary file for git: {reason_of(error)}"
            raise NotRecordedError("failed", why) from error
        fds = [file.fileno() for file in files]
        fd_paths = [f"/dev/fd/{fd}" for fd in fds]
        out = repository.git.read("hash-object", "-w", "--no-filters", "--", *fd_paths, fds=fds)
    return out.decode("ascii").split()


def _temporary_file(data: bytes) -> IO[bytes]:
    """Return an open, unnamed temporary file with the content `data`, ready to read."""
    file = TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        file.write(data)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _read_inside(folder: str, name: str) -> tuple[bytes, str]:
    """Return the content and git mode of a regular file in a folder, without following links."""
    fd = _open_inside(folder, name)
    try:
        status = os.fstat(fd)
        data = read_range(fd, 0, status.st_size)
    finally:
        os.close(fd)
    return data, PROGRAM if status.st_mode & stat.S_IXUSR else FILE


def _open_inside(folder: str, name: str) -> int:
    """Open a regular file in a folder without following links, and return its descriptor."""
    *parents, last = name.split(os.sep)
    parent_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for parent in parents:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            child_fd = os.open(parent, flags, dir_fd=parent_fd)
            os.close(parent_fd)
            parent_fd = child_fd
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(last, flags, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ENXIO, "it is not a regular file", name)
    return fd
