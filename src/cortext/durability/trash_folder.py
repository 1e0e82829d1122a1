"""The trash, which stores deleted files and their original paths until it is emptied."""

from __future__ import annotations

import errno
import os
import shutil
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cortext import clock
from cortext.durability.atomic_folders import place_folder, remove_folder, write_folder
from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    make_private_dir,
    remove_if_there,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.errors import SessionNotFoundError, SessionStorageError
from cortext.model import json_codec, message_dicts
from cortext.model.ids import check_id, new_id
from cortext.model.json_values import parse_time

_INFO = "info.json"


class TrashEntry(NamedTuple):
    """One entry of the trash, such as a conversation. `origins` has its original paths."""

    id: str
    label: str
    deleted_at: datetime
    origins: tuple[str, ...]


class Trash:
    """The trash folder. Each entry is a folder with numbered files and `info.json`.

    `info.json` has the label, the time of deletion and the original paths of the entry.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, label: str, paths: list[str]) -> TrashEntry:
        """Move files or folders into the trash as one entry with the name `label`.

        The original paths are written to the trash first, so that they are known even after a
        crash.
        """
        with storage_errors("move to the trash", paths[0]):
            for path in paths:
                os.lstat(path)
            entry = TrashEntry(new_id(), label, clock.now(), tuple(map(os.path.abspath, paths)))
            folder = os.path.join(self._folder, entry.id)
            info = {
                "version": 1,
                "label": label,
                "deleted_at": message_dicts.iso(entry.deleted_at),
                "origins": list(entry.origins),
            }
            make_private_dir(self._folder)
            # Write the entry outside the trash first: a crash then leaves no incomplete entry.
            new_folder = write_folder(
                os.path.dirname(self._folder), {_INFO: [json_codec.encode(info)]}
            )
            place_folder(new_folder, folder, below=self._folder)
            try:
                for number, origin in enumerate(entry.origins):
                    move(origin, os.path.join(folder, str(number)))
            except OSError:
                if os.listdir(folder) == [_INFO]:
                    self._remove(entry.id)  # Nothing was moved, so there is nothing to restore.
                raise
        return entry

    def list(self) -> list[TrashEntry]:
        """Return the entries of the trash, the latest first.

        A folder without a valid `info.json` is left out. Raises SessionStorageError if the
        operating system cannot read an `info.json`.
        """
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        entries = [entry for name in names if (entry := self._read(name))]
        return sorted(entries, key=lambda entry: entry.deleted_at, reverse=True)

    def restore(self, id: str) -> TrashEntry:
        """Move all files of an entry back to their original paths, and return the entry.

        Raises SessionNotFoundError if the trash has no entry with this id. Raises
        SessionStorageError, and moves nothing, if one of the original paths exists again.
        """
        entry = self._read(check_id(id))
        if entry is None:
            raise SessionNotFoundError(id, path=self._folder)
        folder = os.path.join(self._folder, id)
        moves = [
            (os.path.join(folder, str(number)), origin)
            for number, origin in enumerate(entry.origins)
            if os.path.lexists(os.path.join(folder, str(number)))
        ]
        for _, origin in moves:
            if os.path.lexists(origin):
                raise SessionStorageError(
                    f"cannot restore {entry.label}: {origin} already exists",
                    path=origin,
                    hint="move the existing file or folder away first",
                )
        with storage_errors("restore", entry.origins[0]):
            for source, origin in moves:
                make_private_dir(os.path.dirname(origin))
                move(source, origin)
            self._remove(id)
        return entry

    def empty(self, older_than_days: float = 0) -> list[TrashEntry]:
        """Remove and return the entries that were deleted at least `older_than_days` days ago.

        The files of these entries are lost.
        """
        limit = clock.now() - timedelta(days=older_than_days)
        old_entries = [entry for entry in self.list() if entry.deleted_at <= limit]
        for entry in old_entries:
            with storage_errors("empty the trash at", self._folder):
                self._remove(entry.id)
        return old_entries

    def _remove(self, id: str) -> None:
        """Delete an entry in one step. So a crash cannot leave its files without `info.json`."""
        remove_folder(os.path.join(self._folder, id), os.path.dirname(self._folder))

    def _read(self, name: str) -> TrashEntry | None:
        path = os.path.join(self._folder, name, _INFO)
        # Report an unreadable `info.json`: emptying the trash must not silently skip the entry.
        with storage_errors("read", path):
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None
        try:
            info: dict[str, Any] = message_dicts.as_dict(json_codec.decode(data))
            origins = tuple(str(origin) for origin in info["origins"])
            return TrashEntry(name, str(info["label"]), parse_time(info["deleted_at"]), origins)
        except (ValueError, KeyError, TypeError):
            return None


def move(source: str, target: str) -> None:
    """Move a file or folder durably.

    If `target` is on another file system, the file or folder is copied. The original is removed
    when the copy is complete.
    """
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_whole(source, target)
        if _is_real_dir(source):
            # Remove in one step: half of a conversation would look like a damaged one.
            remove_folder(source, os.path.dirname(source))
        else:
            os.unlink(source)
    sync_dir(os.path.dirname(target))
    sync_dir(os.path.dirname(source))


def _copy_whole(source: str, target: str) -> None:
    """Copy a file or folder to `target`. The copy has a temporary name until it is complete.

    After a crash, `cortext doctor` recognizes a copy with a temporary name.
    """
    folder, name = os.path.split(target)
    temp = os.path.join(folder, temp_name(name))
    try:
        _copy(source, temp)
        os.rename(temp, target)
    except BaseException:
        if _is_real_dir(temp):
            shutil.rmtree(temp, ignore_errors=True)
        else:
            remove_if_there(temp)
        raise
    sync_dir(folder)


def _copy(source: str, target: str) -> None:
    """Copy a file, a link or a whole folder durably."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if _is_real_dir(source):
        make_private_dir(target)
        for name in os.listdir(source):
            _copy(os.path.join(source, name), os.path.join(target, name))
    else:
        with open(source, "rb") as file:
            write_new(target, iter(lambda: file.read(1 << 20), b""))
    os.chmod(target, os.stat(source).st_mode & 0o777)
    sync_dir(target if _is_real_dir(target) else os.path.dirname(target))


def _is_real_dir(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
