"""The `SessionStore` for the Claude Agent SDK, which stores its sessions in a cortext store."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, cast

from cortext.adapters.claude_agent_sdk.entry_messages import (
    KEY,
    entries_of,
    message_of,
    own_entries,
)
from cortext.adapters.claude_agent_sdk.summary_cache import Stamp, Summaries
from cortext.adapters.missing_framework import needs
from cortext.adapters.record_reader import Follower
from cortext.adapters.session_log import (
    PathOrUrl,
    SessionLog,
    beside,
    has_other_owner,
    head_of,
    id_of,
    inner_store,
    log,
)
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.model.framework_key_ids import name_of
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.line_store_base import LineStore
from cortext.stores.log import LogStore
from cortext.stores.servers.server_store_base import ServedStore

with needs("claude-agent-sdk"):
    from claude_agent_sdk import SessionStore, fold_session_summary
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

__all__ = ["CortextSessionStore"]
_AGENTS = "subagents"
_DUPLICATE_CHECK = 2000
"""The number of stored entries that are checked for duplicates when appending begins.

The number is high because an import sends all entries of a session again.
"""


class CortextSessionStore(SessionStore):
    """A store for the transcripts of the Claude Agent SDK.

    `path_or_url` is the path or URL of the cortext store; None means the default folder.

    An entry is durable when `append` returns. Any number of processes may append to one session. An
    entry with a uuid is stored only once. The project key is the owner of a session: other projects
    do not find the session. A session that another program began can be resumed by its id, unless
    the session has another owner. Sub-agents are stored in a separate folder, so lists do not show
    them as conversations.
    """

    def __init__(self, path_or_url: PathOrUrl = None) -> None:
        self._session_log = SessionLog(path_or_url, KEY)
        self._agents = SessionLog("memory:", KEY, remembered=False)
        self._agents.store = inner_store(self._session_log.store, _AGENTS)
        for session_log in (self._session_log, self._agents):
            if isinstance(session_log.store, LineStore):
                session_log.store.first_lines = _DUPLICATE_CHECK
        store = self._session_log.store
        self._summaries = Summaries(store.folder if isinstance(store, LogStore) else None)
        self._served_summaries: dict[str, _ServedSummary] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append transcript entries in this order. They are durable when the call returns."""
        if entries:
            await beside(self._append, key, [message_of(entry) for entry in entries])

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a session unchanged, or None if there is no such session."""
        return cast("list[SessionStoreEntry] | None", await beside(self._load, key))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, with the time of their last write.

        Sub-agents are not included. Sessions that another framework began are included if the
        project is their owner, because the SDK can resume them.
        """
        return await beside(self._list, project_key)

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return a summary of each session of a project. The SDK shows summaries in lists."""
        return await beside(self._summarize, project_key)

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with its sub-agents.

        If `key` has a subpath, delete only the sub-agent with this subpath.
        """
        await beside(self._delete, key)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of all sub-agents of a session. A subpath identifies a sub-agent."""
        return await beside(self._subpaths, key["project_key"], key["session_id"])

    def close(self) -> None:
        """Close the open files. The store can be used again afterwards."""
        self._session_log.close()
        self._agents.close()

    def _locate(self, key: SessionKey) -> tuple[SessionLog, str]:
        project, session = key["project_key"], key["session_id"]
        if not session.strip():
            raise InvalidIdError(session)
        subpath = key.get("subpath")
        if subpath is not None:
            return self._agents, id_of(project, session, subpath)
        id = id_of(project, session)
        if not self._session_log.store.exists(id) and self._is_begun_elsewhere(project, session):
            return self._session_log, session
        return self._session_log, id

    def _is_begun_elsewhere(self, project: str, session: str) -> bool:
        """Return whether another program created the session, and the project may read it."""
        try:
            head = _head(self._session_log, session)
        except InvalidIdError:
            return False
        return head is not None and not has_other_owner(head, project)

    def _append(self, key: SessionKey, messages: list[SessionMessage]) -> None:
        session_log, id = self._locate(key)
        session_log.append(id, messages, lambda: self._new_session(session_log, id, key, messages))
        titles = [entry.get("customTitle") for entry in own_entries(messages)]
        given = [title for title in titles if isinstance(title, str) and title.strip()]
        if given:
            session_log.amend(id, title=given[-1].strip())

    def _new_session(
        self, session_log: SessionLog, id: str, key: SessionKey, messages: list[SessionMessage]
    ) -> Session:
        folders = [entry.get("cwd") for entry in own_entries(messages)]
        session = session_log.new_session(
            id,
            owner=key["project_key"],
            working_dir=next((cwd for cwd in folders if isinstance(cwd, str)), ""),
            metadata=dict(key),
        )
        if "subpath" in key:
            session.parent_id = id_of(key["project_key"], key["session_id"])
        if any(message.role == "user" and message.content.strip() for message in messages):
            session.title = generate_title(Session(messages=messages), WHOLE)
        return session

    def _load(self, key: SessionKey) -> list[dict[str, Any]] | None:
        session_log, id = self._locate(key)
        try:
            session, damages = session_log.store.read(id)
        except SessionNotFoundError:
            return None
        for damage in damages:
            log.warning("%s, line %s: %s", damage.path, damage.line, damage.detail)
        entries = entries_of(session, key["session_id"])
        if not entries:
            return None
        # Other stores may return objects that they share with other callers, so copy them.
        return entries if isinstance(session_log.store, LogStore) else json_copy(entries, "entries")

    def _list(self, project: str) -> list[SessionStoreListEntry]:
        return [
            {"session_id": _session_id(head), "mtime": _milliseconds(stamp)}
            for head, stamp in self._heads_and_stamps(project)
        ]

    def _heads_and_stamps(self, project: str) -> Iterator[tuple[Session, Stamp]]:
        for head in self._session_log.heads(project, last=True):
            try:
                yield head, _stamp(self._session_log, head)
            except FileNotFoundError:
                continue  # the session was deleted in the meantime

    def _summarize(self, project: str) -> list[SessionSummaryEntry]:
        stamped = {head.id: (head, stamp) for head, stamp in self._heads_and_stamps(project)}
        if isinstance(self._session_log.store, ServedStore):
            summaries = {
                id: self._served_summary(project, head) for id, (head, _) in stamped.items()
            }
        else:
            summaries = self._summaries.of(
                project,
                [(id, stamp) for id, (_, stamp) in stamped.items()],
                lambda id: _compute_summary(self._session_log, project, stamped[id][0]),
            )
        return [
            {
                "session_id": _session_id(head),
                "mtime": _milliseconds(stamp),
                "data": json_copy(summaries[id]),
            }
            for id, (head, stamp) in stamped.items()
        ]

    def _served_summary(self, project: str, head: Session) -> dict[str, Any]:
        """Return the summary of a session on a server.

        If the summary was computed before, only new records (stored messages) are read and added to
        it.
        """
        fold = self._served_summaries.setdefault(
            head.id, _ServedSummary(self._session_log, head.id)
        )
        return fold.now(project, head)

    def _delete(self, key: SessionKey) -> None:
        session_log, id = self._locate(key)
        if key.get("subpath") is None:
            project, session = key["project_key"], key["session_id"]
            for subpath in self._subpaths(project, session):
                self._agents.delete(id_of(project, session, subpath))
            self._summaries.forget(id)
            self._served_summaries.pop(id, None)
        session_log.delete(id)

    def _subpaths(self, project: str, session: str) -> list[str]:
        heads = _heads(self._agents, project, session)
        return [str(head.metadata["subpath"]) for head in heads]


def _heads(session_log: SessionLog, *key: str) -> Iterator[Session]:
    """Yield the SDK's sessions of a project, without their messages.

    `key` is the project key. If `key` also has a session id, yield only the sessions with this id.
    """
    prefix = name_of(*key)
    for id in session_log.store.list_session_ids():
        if not id.startswith(prefix):
            continue
        try:
            head = _head(session_log, id)
        except CortextError as error:
            log.warning("a session is not listed: %s", error)
            continue
        if head is None or head.metadata.get("framework") != KEY:
            continue
        if (head.metadata.get("project_key"), head.metadata.get("session_id"))[: len(key)] == key:
            yield head


def _head(session_log: SessionLog, id: str) -> Session | None:
    """Return the head of a session (the session without its messages).

    Returns None if there is no session.
    """
    try:
        return head_of(session_log.store, id)
    except SessionNotFoundError:
        return None


def _blocks(session_log: SessionLog, id: str) -> Iterator[list[SessionMessage]]:
    if isinstance(session_log.store, LogStore):
        for lines in session_log.store.blocks(id):
            yield lines.messages
    else:
        yield session_log.store.load(id).messages


def _session_id(head: Session) -> str:
    """Return the SDK's id of a session.

    For a session of another framework, this is the session's id in the store.
    """
    is_own = head.metadata.get("framework") == KEY
    return str(head.metadata["session_id"]) if is_own else head.id


class _ServedSummary:
    """The SDK's summary of one session on a server.

    Only the records (stored messages) that are new since the last call are read.
    """

    def __init__(self, session_log: SessionLog, id: str) -> None:
        self._session_log = session_log
        self._follower = Follower(session_log.store, id)
        self._summary: SessionSummaryEntry | None = None
        self._one_at_a_time = threading.Lock()

    def now(self, project: str, head: Session) -> dict[str, Any]:
        key: SessionKey = {"project_key": project, "session_id": _session_id(head)}
        with self._one_at_a_time:
            is_reset, messages = self._follower.new()
            if is_reset or self._summary is None:
                self._summary = fold_session_summary(None, key, [])
            if head.metadata.get("framework") == KEY:
                entries = cast("list[SessionStoreEntry]", own_entries(messages))
                self._summary = fold_session_summary(self._summary, key, entries)
            elif messages:
                self._summary["data"] = _compute_summary(self._session_log, project, head)
            return json_copy(self._summary["data"])


def _compute_summary(session_log: SessionLog, project: str, head: Session) -> dict[str, Any]:
    key: SessionKey = {"project_key": project, "session_id": _session_id(head)}
    summary = fold_session_summary(None, key, [])
    if head.metadata.get("framework") != KEY:
        entries_of_session = entries_of(session_log.store.read(head.id).session, head.id)
        return fold_session_summary(
            summary, key, cast("list[SessionStoreEntry]", entries_of_session)
        )["data"]
    for messages in _blocks(session_log, head.id):
        entries = cast("list[SessionStoreEntry]", own_entries(messages))
        summary = fold_session_summary(summary, key, entries)
    return summary["data"]


def _stamp(session_log: SessionLog, head: Session) -> Stamp:
    if isinstance(session_log.store, LogStore):
        stat = os.stat(f"{session_log.store.folder}/{head.id}.jsonl")
        return Stamp(stat.st_mtime_ns, stat.st_size)
    return Stamp(int(head.updated_at.timestamp() * 1e9), head.message_count)


def _milliseconds(stamp: Stamp) -> int:
    return stamp.time // 1_000_000
