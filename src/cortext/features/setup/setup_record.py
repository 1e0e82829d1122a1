"""The record of the changes that `cortext setup` made to files of the user's AI tools.

The record is written before the files. Therefore, if the process is killed, the record names every
file that may contain something of cortext. A recorded file that was never written does no harm.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable
from stat import S_IMODE
from typing import Any, cast

from cortext import paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    make_private_dir,
    remove_if_there,
    replace,
    temp_name,
    write_new,
)
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.model import json_codec

Record = dict[str, Any]
_PATIENCE = 30.0


def setup_lock() -> FileLock:
    """Return the lock that `cortext setup` and `cortext uninstall` hold while they write files."""
    path = paths.setup_record()
    return FileLock(f"{path}.lock", guards=path, wait=_PATIENCE)


class SetupRecord:
    """The record of the changes that `cortext setup` made, by the path of the changed file."""

    def __init__(self, files: dict[str, Record]) -> None:
        self._files = files

    @classmethod
    def load(cls) -> SetupRecord:
        data = read_or_none(paths.setup_record())
        try:
            found = json_codec.decode(data) if data else None
        except ValueError:
            found = None  # Without the record, our changes are still recognised by their form.
        files: Any = cast("dict[str, Any]", found).get("files") if isinstance(found, dict) else {}
        files = cast("dict[str, Any]", files) if isinstance(files, dict) else {}
        return cls(
            {path: one for path, one in files.items() if isinstance(one, dict) and "\0" not in path}
        )

    def paths(self, tools: Iterable[str]) -> list[str]:
        """Return the paths of the recorded files of these tools."""
        wanted = set(tools)
        return [path for path, record in self._files.items() if record.get("tool") in wanted]

    def of(self, path: str, data: bytes | None = None) -> Record:
        """Return the record of the changes in a file; {} if there is none.

        The records of the last two versions of a file are stored. If `data` is given, return the
        record of the version with these contents. Return the record of the latest version if `data`
        is None, or if neither version has these contents.
        """
        record = self._files.get(path) or {}
        earlier = record.get("earlier")
        if data is not None and isinstance(earlier, dict) and record.get("digest") != digest(data):
            known = cast("Record", earlier)
            return known if known.get("digest") == digest(data) else record
        return record

    def keep(self, path: str, record: Record) -> None:
        """Save the record of a change. Call this method before the file is written.

        The record of the file's current version is kept too. It is still needed if the process is
        killed before it writes the new version.
        """
        known = self.of(path, read_or_none(os.path.realpath(path)))
        folders = [*_strings(self.of(path).get("folders")), *record["folders"]]
        entry = {**record, "folders": list(dict.fromkeys(folders))}
        if known:
            entry["earlier"] = {k: v for k, v in known.items() if k not in ("earlier", "folders")}
        self._files[path] = entry
        self._save()

    def forget(self, gone: Iterable[str]) -> None:
        """Remove the files `gone`, which contain nothing of cortext any more, from the record.

        Folders that `cortext setup` created for these files are deleted if they are empty.
        """
        records = {path: self._files[path] for path in gone if path in self._files}
        if records:
            _remove_folders(f for one in records.values() for f in _strings(one.get("folders")))
            self._files = {path: one for path, one in self._files.items() if path not in records}
            self._save()

    def clean(self) -> None:
        """Remove the temp files that killed processes left."""
        for path in self.abandoned_temp_files():
            remove_if_there(path)

    def abandoned_temp_files(self) -> list[str]:
        """Return the paths of temp files of `cortext setup` that killed processes left.

        They are in the same folders as the record and the recorded files. The name of such a temp
        file contains the name of one of these files. Other temp files do not belong to cortext.
        """
        found: list[str] = []
        for path in (paths.setup_record(), *self._files):
            folder, name = os.path.split(os.path.realpath(path))
            pattern = re.compile(re.escape(f".{name[:100]}.") + r"[0-9a-f]{16}\.tmp")
            names = os.listdir(folder) if os.path.isdir(folder) else ()
            found += [os.path.join(folder, other) for other in names if pattern.fullmatch(other)]
        return found

    def _save(self) -> None:
        path = paths.setup_record()
        make_private_dir(os.path.dirname(path))
        replace(path, [json_codec.pretty({"version": 1, "files": self._files}), b"\n"])


def _strings(value: Any) -> list[str]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [one for one in found if isinstance(one, str)]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def as_text(data: bytes) -> str:
    """Decode bytes so that `as_bytes` returns the same bytes again, even if they are not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read_or_none(path: str) -> bytes | None:
    try:
        return read_file(path)
    except FileNotFoundError:
        return None


def write(path: str, data: bytes | None) -> None:
    """Replace a file atomically and keep its permissions. If `data` is None, remove the file."""
    if data is None:
        remove_if_there(path)
        return
    folder, name = os.path.split(path)
    mode = S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o600
    make_private_dir(folder)
    temp = os.path.join(folder, temp_name(name))
    try:
        write_new(temp, [data])
        os.chmod(temp, mode)
        os.rename(temp, path)
    except BaseException:
        remove_if_there(temp)
        raise
    sync_dir(folder)


def missing_folders(path: str) -> list[str]:
    """Return the folders that must be created for a file, the deepest first."""
    found: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _remove_folders(folders: Iterable[str]) -> None:
    """Remove the folders that are empty, the deepest first."""
    for folder in sorted(set(folders), key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise
