"""Atomic replacement of whole files: write a temporary file, sync it, rename it.

Readers see the old file or the new file, never a mix.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress

from cortext.durability.disk_sync import sync_dir, sync_file
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionStorageError

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def storage_errors(doing: str, path: str) -> Generator[None]:
    """Turn an OSError inside the `with` block into a SessionStorageError.

    The message of the new error is "could not DOING PATH: REASON". `doing` is a verb such as
    "read".
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, SessionStorageError):
            raise
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SessionStorageError(
            f"could not {doing} {path}: {reason.lower()}",
            path=path,
            errno=error.errno,
            hint=hint_for(error),
        ) from error


@contextmanager
def collect_errors(failures: list[CortextError], doing: str, path: str) -> Generator[None]:
    """Catch an OSError or a CortextError inside the `with` block, and add it to `failures`.

    An OSError becomes a SessionStorageError with the message "could not DOING PATH: REASON".
    `doing` is a verb such as "read".
    """
    try:
        with storage_errors(doing, path):
            yield
    except CortextError as error:
        failures.append(error)


def hint_for(error: OSError) -> str:
    """Return advice for the user about an error; "" if there is none."""
    return _HINTS.get(error.errno or 0, "")


_HINTS = {
    errno.ENOSPC: "free some space and try again; data that was saved before is intact",
    errno.EDQUOT: "your disk quota is used up; data that was saved before is intact",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "check the owner and the permissions of the folder",
    errno.EPERM: "check the owner and the permissions of the folder",
    errno.EMFILE: "too many files are open in this process",
    errno.EIO: "the disk reported an error; data that was saved before is intact",
    errno.ELOOP: "it is a symbolic link, and cortext never writes through links",
}


def make_private_dir(path: str) -> None:
    """Create a folder and its missing parents, durably and for this user only.

    Nothing changes if the folder exists.
    """
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        pass
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_private_dir(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    sync_dir(parent or ".")


def side_dir(folder: str) -> str:
    """Return the path of `.cortext` inside a folder, and create `.cortext` if it is missing.

    This folder holds our locks, temporary files and indexes. Its `.gitignore` makes git ignore all
    of them.
    """
    path = os.path.join(folder, ".cortext")
    ignore = os.path.join(path, ".gitignore")
    try:
        is_ignored = os.stat(ignore).st_size > 0
    except FileNotFoundError:
        is_ignored = False
    if not is_ignored:
        make_private_dir(path)
        replace(ignore, [b"*\n"])
    return path


def replace(
    path: str, chunks: Iterable[bytes | memoryview], *, temp_dir: str | None = None
) -> os.stat_result:
    """Write a file durably, and return its `stat` result. A file that exists at `path` is replaced.

    The new content is first written to a temporary file in `temp_dir`, by default the folder of
    `path`. Raises OSError if `path` is a symbolic link.
    """
    folder, name = os.path.split(path)
    refuse_link(path)
    temp = os.path.join(temp_dir or folder, temp_name(name))
    try:
        written = write_new(temp, chunks)
        os.rename(temp, path)
    except BaseException:
        remove_if_there(temp)
        raise
    sync_dir(folder)
    return written


def write_new(path: str, chunks: Iterable[bytes | memoryview]) -> os.stat_result:
    """Create a file durably and return its `stat` result. Raises FileExistsError if it exists.

    If a write fails, an incomplete file may remain.
    """
    fd = os.open(path, _OPEN, 0o600)
    try:
        for chunk in chunks:
            write_all(fd, chunk)
        sync_file(fd)
        return os.fstat(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def refuse_link(path: str) -> None:
    if os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def remove_if_there(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def link_over(source: str, target: str, temp_dir: str) -> None:
    """Make `target` a hard link to the file `source`. A file that exists at `target` is replaced.

    If the file system does not support hard links, `target` becomes a copy.
    """
    temp = os.path.join(temp_dir, temp_name(os.path.basename(target)))
    link_or_copy(source, temp)
    try:
        os.rename(temp, target)
    finally:
        # If both paths already name the same file, rename does nothing and leaves `temp`.
        remove_if_there(temp)


def set_aside(path: str, suffix: str) -> str:
    """Give a file a second path, so that its content is preserved when the caller replaces it.

    Return the second path: `PATH.SUFFIX`, or `PATH.SUFFIX-2` and so on if that path is in use. If
    the file already has such a second path, return this path.
    """
    for number in range(1, 10_000):
        second_path = f"{path}.{suffix}" if number == 1 else f"{path}.{suffix}-{number}"
        try:
            link_or_copy(path, second_path)
        except FileExistsError:
            if os.path.samefile(path, second_path):
                return second_path
            continue
        sync_dir(os.path.dirname(path))
        return second_path
    raise OSError(errno.EEXIST, "too many files are already set aside", path)


def link_or_copy(source: str, target: str) -> None:
    """Create a hard link to a file, or a copy where the file system does not support links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV):
            raise
        write_new(target, [read_file(source)])


def remove_set_aside(path: str) -> None:
    """Remove all files that `set_aside` created for a file, such as `PATH.torn`."""
    for other in all_set_aside(path):
        os.unlink(other)


def all_set_aside(path: str) -> list[str]:
    """Return the paths of all files that `set_aside` created for a file, such as `PATH.torn-2`.

    Each possible name is checked, which is faster than listing a folder of very many files.
    """
    return sorted(
        each
        for kind in ("torn", "corrupt", "replaced")
        for each in _existing_paths(f"{path}.{kind}")
    )


def _existing_paths(path: str) -> Iterator[str]:
    """Yield each existing path among `path`, `path-2`, `path-3` and so on.

    The user may have removed some of the files, so gaps in the numbers are skipped.
    """
    number = last = 1
    while number <= last + _LONGEST_GAP:
        name = path if number == 1 else f"{path}-{number}"
        if os.path.lexists(name):
            last = number
            yield name
        number += 1


def temp_name(name: str) -> str:
    """Return a unique hidden name for a temporary file, made from the final file name `name`.

    `sweep_temps` recognizes such names.
    """
    return f".{name[:100]}.{os.urandom(8).hex()}.tmp"


def sweep_temps(folder: str) -> None:
    """Remove from a folder the temporary files that are older than an hour.

    Processes that were killed left these files. They may contain text that the user deleted.
    """
    limit = time.time() - _ABANDONED_SECONDS
    for name in filter(_TEMP.fullmatch, os.listdir(folder)):
        # A writer may have renamed its file in the meantime, or another process removed it.
        with suppress(FileNotFoundError):
            _remove_if_old(os.path.join(folder, name), limit)


def _remove_if_old(path: str, limit: float) -> None:
    status = os.lstat(path)
    if status.st_mtime >= limit:
        return
    if stat.S_ISDIR(status.st_mode):
        # Imported on first use: shutil would add a tenth to the import time of SessionManager.
        import shutil

        shutil.rmtree(path)
    else:
        os.unlink(path)


_LONGEST_GAP = 32
_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp")
# No writer takes this long for one file.
_ABANDONED_SECONDS = 3600
