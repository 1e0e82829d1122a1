"""Storage of the sessions of the Agent Development Kit (ADK), and of their shared state."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from cortext.adapters.exact_json import to_store, value_of
from cortext.adapters.google_adk.adk_events import KEY, own_event, records_of
from cortext.adapters.google_adk.adk_record_replay import (
    Delta,
    OpenLog,
    Outline,
    SessionEvents,
    Shared,
    shared_record,
)
from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import (
    PathOrUrl,
    SessionLog,
    has_other_owner,
    id_of,
    inner_store,
    log,
)
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.model import json_codec
from cortext.model import session as ours
from cortext.model.ids import new_id
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.title import WHOLE, generate_title
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore
from cortext.stores.servers.server_store_base import ServedStore

with needs("google-adk"):
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State

Json = dict[str, Any]
T = TypeVar("T", SessionEvents, Shared)
_MOST_OPEN = 64
MOST_CHANGES = 1000
"""The maximum number of stored changes of a shared state. More changes are merged into one."""


class SessionKey(NamedTuple):
    """The app name, user id and session id that together identify a session in the ADK."""

    app: str
    user: str
    session: str


class _ListEntry(NamedTuple):
    """The state and the last event time of a session, for lists of sessions.

    `file` is the fingerprint (size and time) of the session file when the file was read. It is None
    for a session without a file.
    """

    file: Fingerprint | None
    state: Json
    last: float | None


class AdkSessions:
    """The ADK sessions of one store. The methods block while they wait for the disk."""

    def __init__(self, path_or_url: PathOrUrl) -> None:
        self._session_log = SessionLog(path_or_url, KEY)
        self._state_log = SessionLog("memory:", KEY, remembered=False)
        self._state_log.store = inner_store(self._session_log.store, "state")
        self._open: dict[tuple[str, str], OpenLog[Any]] = {}
        self._list_entries: dict[str, _ListEntry] = {}
        self._outlines: dict[str, OpenLog[Outline]] = {}
        self._open_lock = threading.Lock()

    def create(self, key: SessionKey, state: Delta) -> bool:
        """Create a session with the initial state `state`, and return True.

        Return False if the session exists already.
        """
        id = id_of(*key)
        with self._session_log.alone(id):
            if self._session_log.store.exists(id):
                return False
            self._append_shared(key, state, "")
            metadata = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
            if state.session:
                metadata["state"] = to_store(json_codec.encode(state.session))
            head = self._session_log.new_session(id, owner=key.user, metadata=metadata)
            self._session_log.append(id, [], lambda: head)
        return True

    def get(self, key: SessionKey, most: int | None, after: float | None) -> Session | None:
        try:
            id = self._find_id(key)
            head = self._session_log.head(id)
            with self._content(self._session_log.store, id, SessionEvents) as content:
                events = content.given(most, after)
                state, last = {**_initial_state(head), **content.state}, content.last
        except SessionNotFoundError:
            return None
        return _session(key, head, {**state, **self._shared_states(key)}, last, events)

    def of_app(self, app: str, user: str | None) -> list[Session]:
        """Return the sessions of an app without their events, the most recently used last.

        Sessions that other programs began are included if they have an owner. With `user`, return
        only the sessions of this user.
        """
        sessions: list[Session] = []
        shared: dict[str, Json] = {}
        for head in self._session_log.heads(user):
            ours = head.metadata.get("framework") == KEY
            if head.metadata.get("app_name") != app if ours else not head.owner:
                continue
            entry = self._list_entry(head)
            # A session of another program has no app, and its own id is the session id.
            session = str(head.metadata.get("session_id", head.id)) if ours else head.id
            key = SessionKey(app, head.owner, session)
            if key.user not in shared:
                shared[key.user] = self._shared_states(key)
            state = {**entry.state, **shared[key.user]}
            sessions.append(_session(key, head, state, entry.last, []))
        return sorted(sessions, key=lambda one: (one.last_update_time, one.user_id, one.id))

    def append(self, key: SessionKey, raw: bytes) -> bool:
        """Append an event durably, and return True. `raw` is the event as JSON.

        Return False if the same event is stored already. Raises SessionNotFoundError if there is no
        session.
        """
        id = self._find_id(key)
        records = records_of(raw)
        stored = own_event(records[-1])
        event = cast("Json", value_of(stored))
        delta = Delta.of(event["actions"]["state_delta"])
        self._append_shared(key, delta, event["id"])
        new = self._session_log.store.append(id, *records)
        if not new:
            with self._content(self._session_log.store, id, SessionEvents) as content:
                if content.has(stored):
                    return False
            # A different event has this id already.
            records = records_of(raw, new_id())
            self._append_shared(key, delta, records[-1].id)
            self._session_log.store.append(id, *records)
        self._update_head(id, event, records)
        return True

    def delete(self, key: SessionKey) -> None:
        try:
            id = self._find_id(key)
        except SessionNotFoundError:
            return
        self._session_log.delete(id)
        self._list_entries.pop(id, None)
        self._outlines.pop(id, None)

    def user_state(self, app: str, user: str) -> Json:
        return self._shared_state(_user_id(app, user))

    def close(self) -> None:
        self._session_log.close()
        self._state_log.close()

    def _find_id(self, key: SessionKey) -> str:
        """Return the store's id of the session with this key.

        Raises SessionNotFoundError if there is no such session.
        """
        id = id_of(*key)
        if self._session_log.store.exists(id):
            return id
        try:
            head = self._session_log.head(key.session)
        except InvalidIdError:
            raise SessionNotFoundError(key.session) from None
        # Only sessions of other programs can be opened by id, and only if no other user owns them.
        if head.metadata.get("framework") == KEY or has_other_owner(head, key.user):
            raise SessionNotFoundError(key.session)
        return key.session

    @contextmanager
    def _content(self, store: SessionStore, id: str, make: type[T]) -> Generator[T]:
        name = make.__name__, id
        with self._open_lock:
            opened: OpenLog[T] = self._open.pop(name, None) or OpenLog(store, id, make)
            self._open[name] = opened
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
        with opened.lock:
            yield opened.now()

    def _shared_states(self, key: SessionKey) -> Json:
        """Return the shared state of the app and the user, with the prefixes `app:` and `user:`."""
        app = self._shared_state(_app_id(key.app))
        user = self._shared_state(_user_id(key.app, key.user))
        state = {State.APP_PREFIX + name: value for name, value in app.items()}
        return state | {State.USER_PREFIX + name: value for name, value in user.items()}

    def _list_entry(self, head: ours.Session) -> _ListEntry:
        """Return the state and the last event time of a session, for lists of sessions.

        A session file is read again only if it changed. On a server, only new records are read.
        """
        store = self._session_log.store
        if isinstance(store, ServedStore):
            outline = self._outlines.setdefault(head.id, OpenLog(store, head.id, Outline))
            with outline.lock:
                content = outline.now()
                return _ListEntry(None, {**_initial_state(head), **content.state}, content.last)
        file = None
        if isinstance(store, LogStore):
            file = Fingerprint.at(f"{store.folder}/{head.id}.jsonl")
        entry = self._list_entries.get(head.id)
        if entry is None or file is None or entry.file != file:
            events = OpenLog(store, head.id, SessionEvents).now()
            entry = _ListEntry(file, {**_initial_state(head), **events.state}, events.last)
            self._list_entries[head.id] = entry
        return entry

    def _shared_state(self, id: str) -> Json:
        with self._content(self._state_log.store, id, Shared) as shared:
            state, changes = cast("Json", json_copy(shared.state)), shared.changes
        if changes > MOST_CHANGES:
            self._shorten(id)
        return state

    def _shorten(self, id: str) -> None:
        """Merge all stored changes of a shared state into one record.

        Changes that others append in the meantime come after this record. The session of the state
        is locked during the merge, because a second merge at the same time could undo changes that
        it has not read.
        """
        try:
            with self._state_log.alone(id):
                self._state_log.change(id, _merge)
        except CortextError as error:
            log.warning("the log of a state cannot be shortened: %s", error)

    def _append_shared(self, key: SessionKey, delta: Delta, id: str) -> None:
        for place, change in (
            (_app_id(key.app), delta.app),
            (_user_id(key.app, key.user), delta.user),
        ):
            if change:
                record = shared_record(change, id)
                self._state_log.append(place, [record], lambda place=place: ours.Session(place))

    def _update_head(self, id: str, event: Json, records: Sequence[SessionMessage]) -> None:
        """Update what lists show about a session: its title, and the tool calls that wait.

        `event` is the event that was appended last, and `records` are its records.
        """
        prompts = [one for one in records if one.role == "user" and one.content.strip()]
        answers = event.get("author") == "user" and any(one.role == "tool" for one in records)
        if not prompts and not answers and not event.get("long_running_tool_ids"):
            return
        head = self._session_log.head(id)
        with self._content(self._session_log.store, id, SessionEvents) as content:
            pending = (
                {"framework": KEY, "calls": dict(content.waiting)} if content.waiting else None
            )
        changes: Json = {} if head.pending == pending else {"pending": pending}
        if prompts and not head.title:
            changes["title"] = generate_title(ours.Session(messages=prompts), WHOLE)
        if not changes:
            return
        self._session_log.amend(id, **changes)


def _session(
    key: SessionKey, head: ours.Session, state: Json, last: float | None, events: list[Event]
) -> Session:
    return Session(
        id=key.session,
        app_name=key.app,
        user_id=key.user,
        state=json_copy(state),
        events=events,
        last_update_time=head.created_at.timestamp() if last is None else last,
    )


def _app_id(app: str) -> str:
    return id_of("app", app)


def _user_id(app: str, user: str) -> str:
    return id_of("user", app, user)


def _merge(session: ours.Session) -> None:
    if len(session.messages) > MOST_CHANGES:
        merged = Shared()
        merged.take(session.messages)
        session.messages = [shared_record(merged.state, "")]


def _initial_state(head: ours.Session) -> Json:
    stored = head.metadata.get("state")
    return cast("Json", value_of(stored)) if stored else {}
