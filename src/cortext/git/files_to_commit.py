"""The files of a conversation as git may have them: which, and with what in them."""

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
"""What opening a link, something below one, or a socket fails with."""


class Hashed(NamedTuple):
    """Entries by path; paths without a file; paths of what is no regular file."""

    entries: dict[str, TreeEntry]
    gone: list[str]
    odd: list[str]


def names_inside(folder: str, files: Sequence[str]) -> list[str]:
    """The files relative to their folder; one that is outside of it is a CortextError."""
    names = [os.path.relpath(file, folder) for file in files]
    for name, file in zip(names, files, strict=True):
        parts = name.split(os.sep)
        if parts[0] in (os.pardir, os.curdir) or ".git" in (part.lower() for part in parts):
            raise CortextError(f"{file} is not a file of the conversation in {folder}")
    return sorted(set(names))


def names_elsewhere(folder: str, names: Sequence[str]) -> list[str]:
    """The names that lead through a symbolic link, or into a repository inside the folder."""
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
    """Those of the paths that git does not track and is told to ignore."""
    if not paths:
        return []
    # "./" keeps a leading colon from being read as pathspec magic.
    given = b"".join(b"./%s\0" % os.fsencode(path) for path in paths)
    result = repository.git.run("check-ignore", "-z", "--stdin", given=given)
    if result.code == 1:
        return []
    if result.code:
        raise GitFailed("check-ignore", reason(result.err))
    return [os.fsdecode(name)[2:] for name in result.out.split(b"\0")[:-1]]


def refuse_required_filters(repository: Repository, paths: Sequence[str]) -> None:
    """A filter that is required (git-crypt, say) must run before git may have the content.

    We run none. One that is not required may as well be missing: then git takes content as it is.
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
    """Store the content of files as it is; `paths` has git's path for each name in the folder.

    `allow` sees each name and the very bytes that would be stored. If it does not allow one of
    them, nothing is stored. Nothing is either if a file cannot be read: NotRecorded says why.
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
    """Store contents. From files without a name: what git reads is what was looked at."""
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
    """A file without a name, to be read from its beginning."""
    file = TemporaryFile()  # noqa: SIM115  whoever asks for it closes it
    try:
        file.write(data)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _read_inside(folder: str, name: str) -> tuple[bytes, str]:
    """Content and mode of a regular file below a folder, with no link on the way."""
    fd = _open_inside(folder, name)
    try:
        found = os.fstat(fd)
        data = read_range(fd, 0, found.st_size)
    finally:
        os.close(fd)
    return data, PROGRAM if found.st_mode & stat.S_IXUSR else FILE


def _open_inside(folder: str, name: str) -> int:
    """A descriptor of a regular file below a folder, with no link on the way."""
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
