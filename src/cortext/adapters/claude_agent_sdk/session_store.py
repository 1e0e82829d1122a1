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
    head_of,
    id_of,
    inner_store,
    is_anothers,
    log,
)
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.model.derived_ids import name_of
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.line_store_base import LineStore
from cortext.stores.log import LogStore
from cortext.stores.servers.server_base import ServedStore

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
_KNOWN_AGAIN = 2000
"""How many stored entries to check for duplicates when a session is opened for appending.

The number is high because an import sends all entries of a session again.
"""


class CortextSessionStore(SessionStore):
    """A store for the transcripts of the Claude Agent SDK.

    An entry is durable when `append` returns. Any number of processes may append to one session. An
    entry with a uuid is stored only once. The project key is the owner of a session: other projects
    do not find the session. A session that another program began can be resumed by its id, unless
    it has another owner. Sub-agents have a separate folder, so lists do not show them as
    conversations.
    """

    def __init__(self, path_or_url: PathOrUrl = None) -> None:
        self._kept = SessionLog(path_or_url, KEY)
        self._agents = SessionLog("memory:", KEY, remembered=False)
        self._agents.store = inner_store(self._kept.store, _AGENTS)
        for kept in (self._kept, self._agents):
            if isinstance(kept.store, LineStore):
                kept.store.first_lines = _KNOWN_AGAIN
        store = self._kept.store
        self._summaries = Summaries(store.folder if isinstance(store, LogStore) else None)
        self._folds: dict[str, _Fold] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append transcript entries in this order. They are durable when the call returns."""
        if entries:
            await beside(self._append, key, [message_of(entry) for entry in entries])

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a session unchanged, or None if there is no such session."""
        return cast("list[SessionStoreEntry] | None", await beside(self._load, key))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project with the time of their last write, without sub-agents.

        Sessions that another framework began are included if the project is their owner, because
        they can be resumed.
        """
        return await beside(self._list, project_key)

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return a summary of each session of a project, as the SDK shows it in lists."""
        return await beside(self._summarize, project_key)

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with its sub-agents. With a subpath, delete only that sub-agent."""
        await beside(self._delete, key)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session. Each sub-agent of the session has a subpath."""
        return await beside(self._subpaths, key["project_key"], key["session_id"])

    def close(self) -> None:
        """Close the open files. The store can be used again afterwards."""
        self._kept.close()
        self._agents.close()

    def _place(self, key: SessionKey) -> tuple[SessionLog, str]:
        project, session = key["project_key"], key["session_id"]
        if not session.strip():
            raise InvalidIdError(session)
        subpath = key.get("subpath")
        if subpath is not None:
            return self._agents, id_of(project, session, subpath)
        id = id_of(project, session)
        if not self._kept.store.exists(id) and self._is_begun_elsewhere(project, session):
            return self._kept, session
        return self._kept, id

    def _is_begun_elsewhere(self, project: str, session: str) -> bool:
        """Return whether another program began a session with this id that the project may read."""
        try:
            head = _head(self._kept, session)
        except InvalidIdError:
            return False
        return head is not None and not is_anothers(head, project)

    def _append(self, key: SessionKey, messages: list[SessionMessage]) -> None:
        kept, id = self._place(key)
        kept.append(id, messages, lambda: self._begin(kept, id, key, messages))
        titles = [entry.get("customTitle") for entry in own_entries(messages)]
        given = [title for title in titles if isinstance(title, str) and title.strip()]
        if given:
            kept.amend(id, title=given[-1].strip())

    def _begin(
        self, kept: SessionLog, id: str, key: SessionKey, messages: list[SessionMessage]
    ) -> Session:
        folders = [entry.get("cwd") for entry in own_entries(messages)]
        session = kept.new_session(
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
        kept, id = self._place(key)
        try:
            session, damages = kept.store.read(id)
        except SessionNotFoundError:
            return None
        for damage in damages:
            log.warning("%s, line %s: %s", damage.path, damage.line, damage.detail)
        entries = entries_of(session, key["session_id"])
        if not entries:
            return None
        # Only a log store creates new objects at each read. Others would share theirs.
        return entries if isinstance(kept.store, LogStore) else json_copy(entries, "entries")

    def _list(self, project: str) -> list[SessionStoreListEntry]:
        return [
            {"session_id": _name(head), "mtime": _ms(stamp)}
            for head, stamp in self._stamped(project)
        ]

    def _stamped(self, project: str) -> Iterator[tuple[Session, Stamp]]:
        for head in self._kept.heads(project, last=True):
            try:
                yield head, _stamp(self._kept, head)
            except FileNotFoundError:
                continue  # the session was deleted in the meantime

    def _summarize(self, project: str) -> list[SessionSummaryEntry]:
        stamped = {head.id: (head, stamp) for head, stamp in self._stamped(project)}
        if isinstance(self._kept.store, ServedStore):
            found = {id: self._folded(project, head) for id, (head, _) in stamped.items()}
        else:
            found = self._summaries.of(
                project,
                [(id, stamp) for id, (_, stamp) in stamped.items()],
                lambda id: _fold(self._kept, project, stamped[id][0]),
            )
        return [
            {
                "session_id": _name(head),
                "mtime": _ms(stamp),
                "data": json_copy(found[id]),
            }
            for id, (head, stamp) in stamped.items()
        ]

    def _folded(self, project: str, head: Session) -> dict[str, Any]:
        """Return the SDK's summary of a session on a server. Only new records are read."""
        fold = self._folds.setdefault(head.id, _Fold(self._kept, head.id))
        return fold.now(project, head)

    def _delete(self, key: SessionKey) -> None:
        kept, id = self._place(key)
        if key.get("subpath") is None:
            project, session = key["project_key"], key["session_id"]
            for subpath in self._subpaths(project, session):
                self._agents.delete(id_of(project, session, subpath))
            self._summaries.forget(id)
            self._folds.pop(id, None)
        kept.delete(id)

    def _subpaths(self, project: str, session: str) -> list[str]:
        heads = _heads(self._agents, project, session)
        return [str(head.metadata["subpath"]) for head in heads]


def _heads(kept: SessionLog, *key: str) -> Iterator[Session]:
    """Yield the heads of the sessions whose project key, and session id if given, match `key`."""
    begins = name_of(*key)
    for id in kept.store.list_session_ids():
        if not id.startswith(begins):
            continue
        try:
            head = _head(kept, id)
        except CortextError as error:
            log.warning("a session is not listed: %s", error)
            continue
        if head is None or head.metadata.get("framework") != KEY:
            continue
        if (head.metadata.get("project_key"), head.metadata.get("session_id"))[: len(key)] == key:
            yield head


def _head(kept: SessionLog, id: str) -> Session | None:
    """Return the head of a session, or None if there is no session."""
    try:
        return head_of(kept.store, id)
    except SessionNotFoundError:
        return None


def _blocks(kept: SessionLog, id: str) -> Iterator[list[SessionMessage]]:
    if isinstance(kept.store, LogStore):
        for lines in kept.store.blocks(id):
            yield lines.messages
    else:
        yield kept.store.load(id).messages


def _name(head: Session) -> str:
    """Return the id by which the SDK knows a session.

    For a session of another framework, this is the id in the store.
    """
    ours = head.metadata.get("framework") == KEY
    return str(head.metadata["session_id"]) if ours else head.id


class _Fold:
    """The SDK's summary of one session on a server, updated from new records only."""

    def __init__(self, kept: SessionLog, id: str) -> None:
        self._kept = kept
        self._follower = Follower(kept.store, id)
        self._summary: SessionSummaryEntry | None = None
        self._one_at_a_time = threading.Lock()

    def now(self, project: str, head: Session) -> dict[str, Any]:
        key: SessionKey = {"project_key": project, "session_id": _name(head)}
        with self._one_at_a_time:
            anew, messages = self._follower.new()
            if anew or self._summary is None:
                self._summary = fold_session_summary(None, key, [])
            if head.metadata.get("framework") == KEY:
                entries = cast("list[SessionStoreEntry]", own_entries(messages))
                self._summary = fold_session_summary(self._summary, key, entries)
            elif messages:
                self._summary["data"] = _fold(self._kept, project, head)
            return json_copy(self._summary["data"])


def _fold(kept: SessionLog, project: str, head: Session) -> dict[str, Any]:
    key: SessionKey = {"project_key": project, "session_id": _name(head)}
    summary = fold_session_summary(None, key, [])
    if head.metadata.get("framework") != KEY:
        given = entries_of(kept.store.read(head.id).session, head.id)
        return fold_session_summary(summary, key, cast("list[SessionStoreEntry]", given))["data"]
    for messages in _blocks(kept, head.id):
        entries = cast("list[SessionStoreEntry]", own_entries(messages))
        summary = fold_session_summary(summary, key, entries)
    return summary["data"]


def _stamp(kept: SessionLog, head: Session) -> Stamp:
    if isinstance(kept.store, LogStore):
        found = os.stat(f"{kept.store.folder}/{head.id}.jsonl")
        return Stamp(found.st_mtime_ns, found.st_size)
    return Stamp(int(head.updated_at.timestamp() * 1e9), head.message_count)


def _ms(stamp: Stamp) -> int:
    return stamp.time // 1_000_000
