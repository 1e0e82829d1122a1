"""Copy new parts of the tools' transcripts into the archive, and delete sessions from it.

The archive has compressed copies, which remain when a tool deletes its transcripts.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable, Iterable

import msgspec

from cortext import clock, paths
from cortext.config import Config
from cortext.durability.durable_files import make_private_dir, sweep_temps
from cortext.durability.file_lock import FileLock
from cortext.durability.gzip_members import SUFFIX
from cortext.durability.trash_folder import Trash, TrashEntry
from cortext.errors import CortextError, SessionNotFoundError, SessionStorageError, reason_of
from cortext.features.archive.archive_copy_states import Memory, folder_of, temp_dir
from cortext.features.archive.transcript_copier import Copier
from cortext.model import message_dicts
from cortext.tools import jsonl_transcripts
from cortext.tools.archive_items import ArchiveItem, Failures, archive_source
from cortext.tools.deleted_sessions import DeletedSession, forgotten, record_deleted_session
from cortext.tools.registry import open_bridge, tool_names

_log = logging.getLogger("cortext.archive")
_UNWRITABLE_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_SAVE_EVERY = 100

Progress = Callable[[int, int], None]
"""A callback that gets the number of bytes copied so far and the total number of bytes."""


class ToolSyncResult(msgspec.Struct):
    """The result of a sync for one tool. A sync copies transcripts into the archive.

    Each copy counts as `new`, `grown`, `replaced` or `unchanged`. `deleted` is the number of
    transcripts that were skipped because the user deleted the session. `read` is the number of
    bytes that this sync copied from the transcripts. `sources` is the uncompressed size of all
    copies, and `packed` is their compressed size, in bytes.
    """

    tool: str
    new: int = 0
    grown: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    read: int = 0
    sources: int = 0
    packed: int = 0


class SyncFailure(msgspec.Struct):
    path: str
    reason: str


class SyncResult(msgspec.Struct):
    folder: str
    tools: list[ToolSyncResult]
    errors: list[SyncFailure]
    seconds: float = 0.0

    @property
    def changed(self) -> int:
        """The number of copies that are new or have changed."""
        return sum(one.new + one.grown + one.replaced for one in self.tools)


def sync(
    *, tools: Iterable[str] | None = None, progress: Progress | None = None, wait: float = 0.0
) -> SyncResult:
    """Copy the new parts of the tools' transcripts into the archive.

    `tools` are the names of the tools; None means all. A sync can be killed at any time; the next
    sync continues its work. The result lists the files that cannot be read. Raises
    SessionLockedError if another sync is still running after `wait` seconds, SessionStorageError if
    the disk is full, and CortextError if the archive is turned off.
    """
    if Config.load(None)["archive.enabled"] != "on":
        raise CortextError(
            "the archive is turned off", hint="`cortext config archive.enabled on` turns it on"
        )
    began = time.monotonic()
    result = SyncResult(paths.archive(), [], [])
    with archive_lock(wait):
        _prepare()
        for tool in tool_names() if tools is None else tools:
            result.tools.append(_ToolSync(tool, result.errors).run(progress))
    result.seconds = round(time.monotonic() - began, 3)
    return result


def archive_lock(wait: float) -> FileLock:
    return FileLock(os.path.join(paths.archive(), ".lock"), guards=paths.archive(), wait=wait)


def _prepare() -> None:
    make_private_dir(temp_dir())
    sweep_temps(temp_dir())


class _ToolSync:
    def __init__(self, tool: str, errors: list[SyncFailure]) -> None:
        self._tool, self._errors = tool, errors
        self._memory = Memory(tool)
        self._copier = Copier(tool)
        self._result = ToolSyncResult(tool)
        deleted = [one for one in forgotten() if one.tool == tool]
        self._deleted_ids = {one.id for one in deleted}
        self._deleted_names = {
            jsonl_transcripts.plain(name) for one in deleted for name in one.names
        }

    def run(
        self, progress: Progress | None = None, only: Callable[[ArchiveItem], bool] | None = None
    ) -> ToolSyncResult:
        failures: Failures = {}
        source = archive_source(self._tool)
        items = [item for item in source.items(failures) if not only or only(item)]
        self._errors += [SyncFailure(path, reason) for path, reason in failures.items()]
        if source.moves_transcripts:
            self._follow_moves(items)
        sizes = list(map(self._new_bytes, items)) if progress else []
        done, total = 0, sum(sizes)
        try:
            for number, item in enumerate(items):
                self._copy_item(item)
                if progress:
                    done += sizes[number]
                    progress(done, total)
                if number % _SAVE_EVERY == _SAVE_EVERY - 1:
                    self._save()
        finally:
            self._save()
        return self._result

    def _new_bytes(self, item: ArchiveItem) -> int:
        known = self._memory.copies.get(item.name)
        try:
            size = 0 if item.kind == "rows" else os.stat(item.path).st_size
        except OSError:
            return 0
        return max(size - known.length, 0) if known else size

    def _copy_item(self, item: ArchiveItem) -> None:
        if item.id in self._deleted_ids or item.name in self._deleted_names:
            self._result.deleted += 1
            return
        try:
            done = self._copier.copy(item, self._memory.copies.get(item.name))
        except FileNotFoundError:
            return  # The tool deleted the file meanwhile.
        except SessionStorageError as error:
            if error.errno in _UNWRITABLE_ERRNOS:
                raise
            self._errors.append(SyncFailure(item.path, str(error)))
            return
        except OSError as error:
            self._errors.append(SyncFailure(item.path, reason_of(error)))
            return
        except CortextError as error:  # make no copy with a secret that the user redacted
            self._errors.append(SyncFailure(item.path, str(error)))
            return
        self._memory.put(item.name, done.known)
        result = self._result
        result.read += done.read
        if item.kind == "side" or not done.known.packed:
            return
        result.sources += done.known.length
        result.packed += done.known.packed
        change = done.change or "unchanged"
        setattr(result, change, getattr(result, change) + 1)

    def _follow_moves(self, items: list[ArchiveItem]) -> None:
        """Rename the copy of each transcript that its tool moved to another folder."""
        current_names = {item.name for item in items}
        moved = {
            os.path.basename(name): name
            for name in self._memory.copies
            if name not in current_names
        }
        for item in items:
            old = moved.get(os.path.basename(item.name)) if item.kind in ("log", "cold") else None
            if old and item.name not in self._memory.copies:
                source = os.path.join(folder_of(self._tool), old) + SUFFIX
                target = os.path.join(folder_of(self._tool), item.name) + SUFFIX
                if os.path.exists(source) and not os.path.exists(target):
                    make_private_dir(os.path.dirname(target))
                    os.rename(source, target)
                    self._memory.move(old, item.name)
                    self._copier.move(old, item.name)

    def _save(self) -> None:
        try:
            self._memory.save()
        except OSError as error:
            _log.warning("could not save the state of the archive: %s", reason_of(error))


def keep(tool: str, id: str, *, wait: float = 10.0) -> bool:
    """Copy the new parts of one tool session into the archive.

    Return whether the archive now has the complete session. Return False if the archive is turned
    off. If another sync is running, wait for it at most `wait` seconds.
    """
    if Config.load(None)["archive.enabled"] != "on":
        return False
    errors: list[SyncFailure] = []
    with archive_lock(wait):
        _prepare()
        own = [one.path for one in open_bridge(tool).sources() if one.id == id]
        _ToolSync(tool, errors).run(only=lambda item: item.id == id or item.path in own)
        return not errors and bool(copies_of(tool, id))


class Deleted(msgspec.Struct, frozen=True):
    """The outcome of deleting a tool session from the archive.

    `entry` is the trash entry with the archive's copy, or None if there was no copy. `remains` is
    the path of the tool's own file, which is not deleted, or "" if the tool has no file of the
    session.
    """

    entry: TrashEntry | None
    remains: str

    @property
    def sentence(self) -> str:
        """The outcome as a sentence for the user."""
        copy = "The copy is now in the trash" if self.entry else "cortext had no copy"
        own = f"still has its own file: {self.remains}" if self.remains else "has no file of it"
        return f"{copy}; the tool {own}"


def forget(tool: str, id: str, title: str = "", *, wait: float = 10.0) -> Deleted:
    """Move the archive's copy of a tool session to the trash, and never copy that session again.

    If the user restores the copy from the trash, the session is copied again. The tool's own file
    is not changed. `title` is a label for the trash entry. Raises SessionNotFoundError if neither
    the tool nor the archive has the session.
    """
    # Copy new messages first, so that they can be restored too.
    keep(tool, id, wait=wait)
    with archive_lock(wait):
        _prepare()
        own = [one.path for one in open_bridge(tool).sources() if one.id == id]
        copies = copies_of(tool, id)
        if not copies and not own:
            raise SessionNotFoundError(id, path=folder_of(tool))
        label = f"{tool} {id}: {title}" if title else f"{tool} {id}"
        entry = Trash(paths.trash()).put(label, copies) if copies else None
        names = tuple(os.path.relpath(path, folder_of(tool)) for path in copies)
        record_deleted_session(DeletedSession(tool, id, message_dicts.iso(clock.now()), names))
    return Deleted(entry, own[0] if own else "")


def skip_session(tool: str, id: str, *, wait: float = 10.0) -> None:
    """Exclude a tool session from lists and from the archive.

    The caller must have stored the session's messages elsewhere.
    """
    with archive_lock(wait):
        _prepare()
        record_deleted_session(DeletedSession(tool, id, message_dicts.iso(clock.now())))


def copies_of(tool: str, id: str) -> list[str]:
    """Return the paths of all files and folders of one tool session in the archive."""
    home, found = folder_of(tool), list[str]()
    for source in open_bridge(tool, home).sources():
        if source.id == id:
            found += _related_copies(source.path, id)
    if archive_source(tool).moves_transcripts:  # a session may continue in another file
        for folder, _, names in os.walk(home):
            found += [os.path.join(folder, name) for name in names if f"-{id}" in name]
    return list(dict.fromkeys(found))


def _related_copies(path: str, id: str) -> list[str]:
    """Return the paths of a copy, its numbered old versions, and its sub-agents' transcripts.

    `path` is the path of the copy, and `id` is the id of its session.
    """
    folder, name = os.path.split(path)
    bare, found = jsonl_transcripts.plain(name), [path]
    for entry in jsonl_transcripts.listed(folder):
        if entry.name.startswith(f"{bare}.~") or entry.name == id:
            found.append(entry.path)
        elif entry.name.startswith("agent-"):
            first = jsonl_transcripts.read_head(entry.path, jsonl_transcripts.ENDS[1]).partition(
                b"\n"
            )[0]
            found += [entry.path] if id.encode() in first else []
    return found
