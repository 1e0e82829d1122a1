"""Operations on whole folders: each folder appears, changes or disappears in one step."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping

from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import link_or_copy, make_private_dir, temp_name, write_new


def write_folder(temp_dir: str, files: Mapping[str, Iterable[bytes]]) -> str:
    """Create a temporary folder in `temp_dir` with the given files, and return its path.

    `files` maps each file name to the parts of its content. When the function returns, the folder
    and its files are on stable storage.
    """
    fresh = os.path.join(temp_dir, temp_name("new"))
    try:
        make_private_dir(fresh)
        for name, chunks in files.items():
            write_new(os.path.join(fresh, name), chunks)
        sync_dir(fresh)
    except BaseException:
        _remove(fresh, ignore_errors=True)
        raise
    return fresh


def place_folder(fresh: str, target: str, *, below: str) -> None:
    """Rename the folder `fresh`, which `write_folder` created, to `target`, durably.

    The parents of `target`, up to the folder `below`, are forced to stable storage too, because
    they may be new. If the rename fails, `fresh` is removed.
    """
    try:
        os.rename(fresh, target)
    except BaseException:
        _remove(fresh, ignore_errors=True)
        raise
    parent = os.path.dirname(target)
    sync_dir(parent)
    while parent != below:
        parent = os.path.dirname(parent)
        sync_dir(parent)


def swap_folder(fresh: str, target: str) -> None:
    """Replace the folder `target` by the folder `fresh`, in one step if the system supports that.

    Files that exist only in `target` are kept: they are first linked or copied into `fresh`.
    """
    try:
        new_names = os.listdir(fresh)
        for name in {*os.listdir(target)}.difference(new_names):
            link_or_copy(os.path.join(target, name), os.path.join(fresh, name))
        sync_dir(fresh)
        # A crash between several renames would leave a mix of old and new files.
        if not _exchange(fresh, target):
            for name in new_names:
                os.rename(os.path.join(fresh, name), os.path.join(target, name))
            sync_dir(target)
        sync_dir(os.path.dirname(target))
    finally:
        _remove(fresh, ignore_errors=True)


def remove_folder(target: str, temp_dir: str) -> None:
    """Delete a folder and its files.

    The folder is first renamed into `temp_dir`, so that it disappears in one step. Then its files
    are deleted.
    """
    doomed = os.path.join(temp_dir, temp_name("deleted"))
    os.rename(target, doomed)
    sync_dir(os.path.dirname(target))
    _remove(doomed)


def _remove(folder: str, *, ignore_errors: bool = False) -> None:
    # Imported on first use: shutil takes as long to import as the rest of this module.
    import shutil

    shutil.rmtree(folder, ignore_errors=ignore_errors)


def _exchange(first: str, second: str) -> bool:
    """Swap two folders in one step. Return False if the system does not support that."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    cwd, swap = ctypes.c_int(-100), ctypes.c_uint(2)  # AT_FDCWD, RENAME_EXCHANGE
    if libc.renameat2(cwd, os.fsencode(first), cwd, os.fsencode(second), swap) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EOPNOTSUPP):
        return False
    raise OSError(number, os.strerror(number), second)
