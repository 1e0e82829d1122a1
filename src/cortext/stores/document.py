"""The document store: each session is one JSON file, `{id}.json`.

`{id}.backup` is the previous version of the file, from before the last save.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from cortext import clock, paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    link_over,
    make_private_dir,
    refuse_link,
    remove_if_there,
    remove_set_aside,
    replace,
    set_aside,
    side_dir,
    storage_errors,
    sweep_temps,
)
from cortext.durability.file_lock import DEFAULT_WAIT, FileLock
from cortext.durability.read_files import read_file_and_stat
from cortext.errors import (
    InvalidIdError,
    SessionCorruptedError,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.formats import document
from cortext.formats.document import EncodedRecords
from cortext.formats.message_lines import Damage
from cortext.model.ids import check_id
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_summary import SessionSummary
from cortext.stores.damage_checks import (
    at,
    name_mismatch,
    raise_if_damaged,
    read_session_file,
    refuse_newer,
)
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.ids_in_folder import session_names
from cortext.stores.limited_cache import LimitedCache
from cortext.stores.port import Reading, SessionStore
from cortext.stores.save_merge import KnownRecords, add_records

if TYPE_CHECKING:
    from pathlib import Path

_INDEX = "index"
"""The id that no session may have, because `index.json` is the exported index of all sessions."""

_RESTORE_HINT = "nothing was changed; recover_from_backup(id) restores the previous version"


class _KnownFile(msgspec.Struct, frozen=True):
    """A session's file as this store last read or wrote it: its fingerprint and its records.

    The records are messages and tool calls. Their encoded form is kept too, so that the next save
    does not encode them again.
    """

    fingerprint: Fingerprint
    messages: EncodedRecords
    history: EncodedRecords

    def records(self, id: str) -> Session:
        """Return a session that has only the records. All other fields are empty."""
        return Session(
            id, messages=list(self.messages.items), tool_history=list(self.history.items)
        )


class SessionStorage(SessionStore):
    """A session store in a folder of JSON files, for programs with one conversation at a time.

    A save replaces the whole file of a session. The replaced file becomes the backup, if it can be
    read. Records that the replaced file already contains are not encoded again.
    """

    def __init__(
        self,
        storage_dir: str | os.PathLike[str] | None = None,
        *,
        lock_wait: float = DEFAULT_WAIT,
        on_change: Callable[[str], None] | None = None,
    ) -> None:
        folder = os.path.expanduser(storage_dir or paths.document_dir())
        with storage_errors("open", str(folder)):
            self._folder: str = os.path.abspath(folder)
        self._lock_wait = lock_wait
        self.on_change = on_change
        self._known_files: LimitedCache[_KnownFile] = LimitedCache(8)
        self._known = KnownRecords()
        with storage_errors("create the folder", self._folder):
            make_private_dir(self._folder)

    @staticmethod
    def get_default_dir() -> Path:
        return _path(paths.document_dir())

    @staticmethod
    def get_project_dir(root: str | os.PathLike[str]) -> Path:
        return _path(paths.project_document_dir(root))

    @property
    def index_path(self) -> str:
        """The path of `index.json`, the exported index of all sessions in the folder."""
        return f"{self._folder}/{_INDEX}.json"

    @property
    def storage_dir(self) -> Path:
        return _path(self._folder)

    def get_path(self, id: str) -> Path:
        return _path(self._path(id))

    def get_backup_path(self, id: str) -> Path:
        return _path(self._backup(id))

    def exists(self, id: str) -> bool:
        return os.path.isfile(self._path(id))

    def save(self, session: Session) -> None:
        path = self._path(session.id)
        with storage_errors("write", path), self._lock(session.id):
            known_file = self._find_old_file(session.id, path)
            if known_file is not None:
                self._known.add_others_records(session, known_file.records(session.id))
            self._save(session, path, known_file)
        self._known.note(session)
        self._notify(session.id)

    def checkpoint(self, session: Session) -> None:
        with storage_errors("write", self._path(session.id)), self._lock(session.id):
            stored, known_file = self._load(session.id)
            known = {call.id for call in stored.tool_history}
            calls = [call for call in session.tool_history if call.id not in known]
            head = copy(session)
            head.messages, head.tool_history = stored.messages, stored.tool_history + calls
            self._save(head, self._path(session.id), known_file)
        self._notify(session.id)

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        """Add messages at the end of a session and return how many of them were new.

        See `SessionStore.append` for the details. The whole file is rewritten, so an append takes
        longer in a long session.
        """
        path = self._path(id)
        with storage_errors("write", path), self._lock(id):
            session, known_file = self._load(id)
            new = add_records(session, messages, tool_invocations)
            if new:
                self._save(session, path, known_file)
            else:
                # Sync again: an earlier attempt may have written the messages and failed to sync.
                sync_dir(self._folder)
        self._notify(id)
        return new

    def load(self, id: str) -> Session:
        session, _ = self._load(id)
        self._known.note(session)
        return session

    def load_or_none(self, id: str) -> Session | None:
        """Return a session, or None if the session does not exist or is damaged.

        Other errors of `load` are raised.
        """
        try:
            return self.load(id)
        except (SessionNotFoundError, SessionCorruptedError):
            return None

    def read(self, id: str) -> Reading:
        path = self._path(id)
        data, status = read_session_file(id, path)
        try:
            reading, _ = self._decode(id, data, status)
        except ValueError as error:
            refuse_newer(document.decode_version(data), path)
            session, damages = document.salvage(data, id)
            reading = Reading(session, at(path, [Damage(str(error)), *damages]))
        self._known.note(reading.session)
        return reading

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        messages = self._load(id)[0].messages
        return messages[-count:] if count > 0 else []

    def delete(self, id: str) -> bool:
        with storage_errors("delete", self._path(id)), self._lock(id):
            existed = self._delete(id)
        if existed:
            self._notify(id)
        return existed

    def list_session_ids(self) -> list[str]:
        return [name for name in session_names(self._folder, ".json") if name != _INDEX]

    def recover_from_backup(self, id: str) -> bool:
        """Replace the file of a session by its backup. Return False if there is no readable backup.

        The replaced file stays in the folder under another name: `{id}.json.replaced` if it can be
        read, otherwise `{id}.json.corrupt`.
        """
        path, backup = self._path(id), self._backup(id)
        with storage_errors("recover", path), self._lock(id):
            try:
                data, _ = read_file_and_stat(backup)
                document.decode(data)
            except (FileNotFoundError, IsADirectoryError, ValueError):
                return False
            refuse_link(path)
            if os.path.lexists(path):
                set_aside(path, "replaced" if self._is_readable(path) else "corrupt")
            replace(path, [data], temp_dir=side_dir(self._folder))
        self._known_files.pop(id)
        self._notify(id)
        return True

    def cleanup_old_sessions(self, max_age_days: float = 30, keep_minimum: int = 10) -> list[str]:
        """Permanently remove the sessions that were not updated for `max_age_days` days.

        Return the ids of the removed sessions. The `keep_minimum` most recently updated sessions
        are not removed, even if they are old. Files that cannot be read are not removed and do not
        count as sessions.
        """
        ages = [
            (session.updated_at, id)
            for id in self.list_session_ids()
            if (session := self._load_quietly(id)) is not None
        ]
        ages.sort(reverse=True)
        limit = _days_ago(max_age_days)
        old = [id for updated, id in ages[max(keep_minimum, 0) :] if updated < limit]
        return [id for id in old if self._delete_if_older(id, limit)]

    def cleanup_old_backups(self, max_age_days: float = 7) -> list[str]:
        """Remove backup files older than `max_age_days` days. Return the ids of their sessions.

        If a session is missing or cannot be read, its backup is the only copy and is not removed.
        """
        limit = _days_ago(max_age_days).timestamp()
        ids = session_names(self._folder, ".backup")
        removed = [id for id in ids if id != _INDEX and self._remove_backup_if_older(id, limit)]
        if removed:
            with storage_errors("clean up", self._folder):
                sync_dir(self._folder)
        return removed

    def get_storage_size(self) -> int:
        """Return the total size in bytes of all files in the folder and its subfolders.

        This includes sessions, backups and the index.
        """
        total = 0
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total

    def summarize(self, id: str) -> SessionSummary:
        """Return the summary of a session, as lists of sessions show it.

        The errors are the same as for `load`. Unlike `load`, this method does not affect how the
        store merges messages in a later `save`.
        """
        return SessionSummary.from_session(self._load(id)[0])

    def fingerprint(self, id: str) -> Fingerprint | None:
        """Return the fingerprint that a session's file had when this store last read or wrote it.

        Return None if this store has not used the session recently. The file itself is not read.
        """
        known_file = self._known_files.get(_check_document_id(id))
        return known_file.fingerprint if known_file else None

    def close(self) -> None:
        self._known_files.clear()

    def _path(self, id: str) -> str:
        return f"{self._folder}/{_check_document_id(id)}.json"

    def _backup(self, id: str) -> str:
        return f"{self._folder}/{_check_document_id(id)}.backup"

    def _lock(self, id: str) -> FileLock:
        path = f"{side_dir(self._folder)}/locks/{id}.lock"
        return FileLock(path, guards=self._path(id), wait=self._lock_wait)

    def _notify(self, id: str) -> None:
        if self.on_change is not None:
            self.on_change(id)

    def _save(self, session: Session, path: str, known_file: _KnownFile | None) -> None:
        """Write a session to `path`, and turn the old file into the backup.

        `known_file` describes the old file. It is None if the old file is missing or cannot be
        read. An unreadable file is renamed to `*.corrupt` and does not become the backup.
        """
        messages = (known_file.messages if known_file else EncodedRecords()).extended(
            session.messages
        )
        history = (known_file.history if known_file else EncodedRecords()).extended(
            session.tool_history
        )
        chunks = document.encode(session, messages, history)
        refuse_link(path)
        if known_file is not None:
            link_over(path, self._backup(session.id), side_dir(self._folder))
        elif os.path.lexists(path):
            set_aside(path, "corrupt")
        written = replace(path, chunks, temp_dir=side_dir(self._folder))
        self._known_files.put(session.id, _KnownFile(Fingerprint.of(written), messages, history))

    def _delete(self, id: str) -> bool:
        path = self._path(id)
        # Remove the backup last, so that a delete that fails halfway loses nothing.
        existed = remove_if_there(path)
        existed = remove_if_there(self._backup(id)) or existed
        if existed:
            remove_set_aside(path)
            sync_dir(self._folder)
            sweep_temps(side_dir(self._folder))
        self._known_files.pop(id)
        return existed

    def _delete_if_older(self, id: str, limit: datetime) -> bool:
        """Delete a session if its last update is before `limit`. Return whether it was deleted.

        The time of the last update is read while the session is locked, because another process may
        have continued the session.
        """
        with storage_errors("delete", self._path(id)), self._lock(id):
            session = self._load_quietly(id)
            is_deleted = session is not None and session.updated_at < limit and self._delete(id)
        if is_deleted:
            self._notify(id)
        return is_deleted

    def _remove_backup_if_older(self, id: str, limit: float) -> bool:
        backup = self._backup(id)
        with storage_errors("delete", backup):
            if not _is_older(backup, limit):
                return False
            with self._lock(id):
                # Check again under the lock: a save may have replaced the backup.
                is_unneeded = _is_older(backup, limit) and self._load_quietly(id) is not None
                return is_unneeded and remove_if_there(backup)

    def _find_old_file(self, id: str, path: str) -> _KnownFile | None:
        """Describe the file that a save will replace.

        Return None if there is no file, or if the file cannot be read.
        """
        known_file = self._known_files.get(id)
        if known_file is not None and known_file.fingerprint == Fingerprint.at(path):
            return known_file
        try:
            return self._load(id)[1]
        except (SessionNotFoundError, SessionCorruptedError):
            return None

    def _load(self, id: str) -> tuple[Session, _KnownFile]:
        path = self._path(id)
        data, status = read_session_file(id, path)
        try:
            reading, known_file = self._decode(id, data, status)
        except ValueError as error:
            refuse_newer(document.decode_version(data), path)
            hint = _RESTORE_HINT if os.path.exists(self._backup(id)) else ""
            raise SessionCorruptedError(path, str(error), hint=hint) from None
        raise_if_damaged(reading.damages)
        return reading.session, known_file

    def _load_quietly(self, id: str) -> Session | None:
        try:
            return self._load(id)[0]
        except SessionStorageError:
            return None

    def _decode(self, id: str, data: bytes, status: os.stat_result) -> tuple[Reading, _KnownFile]:
        decoded = document.decode(data)
        refuse_newer({"version": decoded.version}, self._path(id))
        session = decoded.session
        damages = [Damage(note, fatal=False) for note in decoded.notes]
        damages += name_mismatch(session.id, id)
        session.id = id
        known_file = _KnownFile(Fingerprint.of(status), decoded.messages, decoded.history)
        self._known_files.put(id, known_file)
        return Reading(session, at(self._path(id), damages)), known_file

    def _is_readable(self, path: str) -> bool:
        try:
            document.decode(read_file_and_stat(path)[0])
        except (OSError, ValueError):
            return False
        return True


def _is_older(path: str, limit: float) -> bool:
    try:
        return os.lstat(path).st_mtime < limit
    except FileNotFoundError:
        return False


def _days_ago(days: float) -> datetime:
    try:
        return clock.now() - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _path(text: str) -> Path:
    # Import pathlib late: it takes a tenth of the import time of this module.
    from pathlib import Path

    return Path(text)


def _check_document_id(id: str) -> str:
    if id == _INDEX:
        raise InvalidIdError(id)
    return check_id(id)
