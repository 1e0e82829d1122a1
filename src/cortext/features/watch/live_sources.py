"""The kinds of conversations that can be followed: of a workspace, of a tool, and of a store.

Each kind has a class with the methods of `LiveSource`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.features.capture.bindings import ConversationRef, row_of
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.capture.transcripts import find_transcript
from cortext.features.listing.session_of_row import read_all
from cortext.features.listing.store_sessions import complete_id, folder_of, open_existing
from cortext.features.watch.change_watcher import Print, fingerprint_file
from cortext.formats.folder import FOLDER
from cortext.formats.log import LOG
from cortext.formats.message_lines import Damage, RecordTable, decode_lines
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tool_binding import bindings_of
from cortext.stores.folder import FolderStore
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store
from cortext.tools.new_transcript_lines import Follows, NewLines
from cortext.tools.transcript_folders import archive_home
from cortext.workspace.workspace import Workspace

_MAX_RESULT = 100_000
"""The maximum number of characters of a tool result. A longer result is cut in the middle."""
_RETRY_SECONDS = 3.0
"""Seconds between two searches for the transcript of a tool session that has none yet."""
Prints = tuple[Print, ...]
Reading = tuple[Session, Sequence[Damage]]


class LiveSource(Protocol):
    """A conversation to which messages may be added.

    The methods raise FileNotFoundError or SessionNotFoundError if the conversation was deleted.
    """

    path: str
    """The file to which new messages are appended."""

    def is_there(self) -> bool:
        """Return whether the file of the conversation still exists."""
        ...

    def prints(self) -> Prints:
        """Return the fingerprints of the conversation's files.

        They change if there may be new messages.
        """
        ...

    def read(self) -> Reading:
        """Return the whole conversation and its damages. Set `path` to its current file."""
        ...

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        """Return the messages in appended lines, or None if the whole file must be read.

        `lately` holds the appended lines.
        """
        ...

    def over(self) -> str:
        """Return the reason why no more messages will come, or "" if more may come."""
        ...


def _decode_appended(lately: NewLines, table: RecordTable) -> Sequence[SessionMessage] | None:
    """Return the messages in appended lines, or None if the whole file must be read.

    `table` is the record format of the lines. The whole file must be read if a line is damaged or
    records a tool call, because the position of a tool call depends on other lines.
    """
    found = decode_lines(lately.after, table)
    return None if found.invocations or found.damages else found.messages


class LiveConversation:
    """A conversation of a workspace, as a live source.

    Each check first captures the new messages of its tool sessions, as `cortext show` does.
    """

    def __init__(self, row: ConversationRow) -> None:
        self._row = row
        self.path: str = row.place.lines
        self._store = Workspace(row.workspace).store
        self._head = Session(row.id)
        self._transcripts: Prints = ()
        self._captured_at = 0.0

    def is_there(self) -> bool:
        return os.path.exists(self._row.place.head)

    def prints(self) -> Prints:
        place = self._row.place
        own = (fingerprint_file(place.head), fingerprint_file(place.lines))
        if own[0]:
            self._capture_changes()
            own = (fingerprint_file(place.head), fingerprint_file(place.lines))
        return own

    def _capture_changes(self) -> None:
        """Capture new messages if the transcript of one of the tool sessions changed.

        If a tool session has no transcript yet, search for the transcript every few seconds.
        """
        transcripts = [binding.path for binding in bindings_of(self._head) if binding.is_open]
        now = tuple(each for path in transcripts if path for each in _fingerprints_of(path))
        is_due = not all(transcripts) and time.monotonic() > self._captured_at + _RETRY_SECONDS
        if now == self._transcripts and not is_due:
            return
        self._transcripts, self._captured_at = now, time.monotonic()
        capture_pending(self._row)

    def read(self) -> Reading:
        session, damages = self._store.read(self._row.path)
        return session, [each._replace(path=each.path or self.path) for each in damages]

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        return _decode_appended(lately, FOLDER.records)

    def over(self) -> str:
        try:
            self._head = self._store.head_at(self._row.place)
        except SessionCorruptedError:
            return ""  # `show` reports the damage; new messages can still be shown
        return "the conversation is completed" if self._head.status == "completed" else ""


class LiveToolSession:
    """A session of a tool, as a live source.

    If the tool has deleted the session, the copy in the archive is read. This copy never changes.
    """

    def __init__(self, row: ConversationRow) -> None:
        self._row = row
        self.path: str = row.path

    def is_there(self) -> bool:
        return os.path.exists(self.path)

    def prints(self) -> Prints:
        return _fingerprints_of(self.path)

    def read(self) -> Reading:
        found = read_all(self._row, _MAX_RESULT)
        self.path = found.path
        self._row = replace(self._row, path=found.path)
        return found.session, [d._replace(path=d.path or self.path) for d in found.damages]

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        found = find_transcript(self._row.tool, self._row.key, self.path)
        if found is None or not isinstance(found[0], Follows):
            return None
        said = found[0].follow(found[1], lately)
        return None if said is None else said.new

    def over(self) -> str:
        copy = self.path.startswith(f"{archive_home(self._row.tool)}/")
        return "the tool has deleted the session; this is the archived copy" if copy else ""


class LiveStoredSession:
    """A session of a store, as a live source.

    The file of the session is a log (as in `cortext spawn`) or a JSON document.
    """

    def __init__(self, store: SessionStore, id: str, path: str) -> None:
        self._store = store
        self._id = id
        self.path = path
        self._status = ""

    def is_there(self) -> bool:
        return os.path.exists(self.path)

    def prints(self) -> Prints:
        return (fingerprint_file(self.path),)

    def read(self) -> Reading:
        session, damages = self._store.read(self._id)
        self._status = session.status
        return session, [each._replace(path=each.path or self.path) for each in damages]

    def follow(self, lately: NewLines) -> Sequence[SessionMessage] | None:
        return _decode_appended(lately, LOG.records)

    def over(self) -> str:
        # A new status rewrites the file, so `read` has seen the current status.
        os.stat(self.path)
        return "the session is completed" if self._status == "completed" else ""


def _fingerprints_of(path: str) -> Prints:
    """Return the fingerprint of a file: a value that changes if the file changes.

    For a database, also return the fingerprint of its write-ahead log (the file `PATH-wal`).
    """
    return (
        (fingerprint_file(path), fingerprint_file(f"{path}-wal"))
        if path.endswith(".db")
        else (fingerprint_file(path),)
    )


def open_live_source(row: ConversationRow) -> LiveSource:
    """Return the live source for a row: a conversation, a tool session or a stored session."""
    if row.is_standalone:
        folder, kind = os.path.dirname(row.path), "log" if row.is_log else "document"
        return LiveStoredSession(open_session_store(f"{kind}:{folder}"), row.key, row.path)
    return LiveToolSession(row) if row.tool else LiveConversation(capture_pending(row))


def open_stored_source(url: str, given: str) -> LiveSource:
    """Return the live source for a session of the store with this URL.

    `given` is the id of the session, or the beginning of the id. Raises SessionNotFoundError if
    there is no such session.
    """
    store = open_existing(url)
    if store is None:
        raise SessionNotFoundError(given)
    id = complete_id(store, given)
    if isinstance(store, FolderStore):
        return open_live_source(
            row_of(ConversationRef(os.path.abspath(folder_of(url)), store.place_of(id)))
        )
    ending = "json" if url.startswith("document:") else "jsonl"
    return LiveStoredSession(store, id, os.path.join(folder_of(url), f"{id}.{ending}"))
