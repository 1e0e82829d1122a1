"""Storage of the sessions of the Agent Development Kit (ADK), with the state that they share."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from cortext.adapters.exact_json import to_store, value_of
from cortext.adapters.google_adk.adk_events import KEY, own_event, records_of
from cortext.adapters.google_adk.adk_session_state import (
    Delta,
    OpenLog,
    Outline,
    SessionEvents,
    Shared,
    shared_record,
)
from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import PathOrUrl, SessionLog, id_of, inner_store, is_anothers, log
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError
from cortext.model import json_codec
from cortext.model import session as ours
from cortext.model.ids import new_id
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.title import WHOLE, generate_title
from cortext.stores.fingerprints import Fingerprint
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore
from cortext.stores.servers.server_base import ServedStore

with needs("google-adk"):
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State

Json = dict[str, Any]
T = TypeVar("T", SessionEvents, Shared)
_MOST_OPEN = 64
MOST_CHANGES = 1000
"""The number of stored changes of a shared state after which they are merged into one."""


class SessionKey(NamedTuple):
    """The app name, user id and session id that together identify a session in the ADK."""

    app: str
    user: str
    session: str


class _Listed(NamedTuple):
    """The state and last event time of a session, as a list shows them.

    `file` is the fingerprint of the session file when it was read.
    """

    file: Fingerprint | None
    state: Json
    last: float | None


class AdkSessions:
    """The ADK sessions of one store. The methods block while they wait for the disk."""

    def __init__(self, path_or_url: PathOrUrl) -> None:
        self._kept = SessionLog(path_or_url, KEY)
        self._shared = SessionLog("memory:", KEY, remembered=False)
        self._shared.store = inner_store(self._kept.store, "state")
        self._open: dict[tuple[str, str], OpenLog[Any]] = {}
        self._listed: dict[str, _Listed] = {}
        self._outlines: dict[str, OpenLog[Outline]] = {}
        self._threads = threading.Lock()

    def create(self, key: SessionKey, state: Delta) -> bool:
        """Create a session with this initial state. Return False if the session exists already."""
        id = id_of(*key)
        with self._kept.alone(id):
            if self._kept.store.exists(id):
                return False
            self._share(key, state, "")
            metadata = {"app_name": key.app, "user_id": key.user, "session_id": key.session}
            if state.session:
                metadata["state"] = to_store(json_codec.encode(state.session))
            head = self._kept.new_session(id, owner=key.user, metadata=metadata)
            self._kept.append(id, [], lambda: head)
        return True

    def get(self, key: SessionKey, most: int | None, after: float | None) -> Session | None:
        try:
            id = self._place(key)
            head = self._kept.head(id)
            with self._now(self._kept.store, id, SessionEvents) as found:
                events = found.given(most, after)
                state, last = {**_initial(head), **found.state}, found.last
        except SessionNotFoundError:
            return None
        return _session(key, head, {**state, **self._around(key)}, last, events)

    def of_app(self, app: str, user: str | None) -> list[Session]:
        """Return the sessions of an app without their events, the most recently used last.

        Sessions that other programs began are included if they have an owner. With `user`, return
        only the sessions of this user.
        """
        found: list[Session] = []
        around: dict[str, Json] = {}
        for head in self._kept.heads(user):
            ours = head.metadata.get("framework") == KEY
            if head.metadata.get("app_name") != app if ours else not head.owner:
                continue
            listed = self._summary(head)
            # A session of another program has no app, and its own id is the session id.
            session = str(head.metadata.get("session_id", head.id)) if ours else head.id
            key = SessionKey(app, head.owner, session)
            if key.user not in around:
                around[key.user] = self._around(key)
            state = {**listed.state, **around[key.user]}
            found.append(_session(key, head, state, listed.last, []))
        return sorted(found, key=lambda one: (one.last_update_time, one.user_id, one.id))

    def append(self, key: SessionKey, raw: bytes) -> bool:
        """Append an event durably. Return False if the same event is stored already.

        `raw` is the event as JSON. Raises SessionNotFoundError if there is no session.
        """
        id = self._place(key)
        records = records_of(raw)
        stored = own_event(records[-1])
        event = cast("Json", value_of(stored))
        delta = Delta.of(event["actions"]["state_delta"])
        self._share(key, delta, event["id"])
        new = self._kept.store.append(id, *records)
        if not new:
            with self._now(self._kept.store, id, SessionEvents) as found:
                if found.has(stored):
                    return False
            # A different event has this id already.
            records = records_of(raw, new_id())
            self._share(key, delta, records[-1].id)
            self._kept.store.append(id, *records)
        self._note(id, event, records)
        return True

    def delete(self, key: SessionKey) -> None:
        try:
            id = self._place(key)
        except SessionNotFoundError:
            return
        self._kept.delete(id)
        self._listed.pop(id, None)
        self._outlines.pop(id, None)

    def user_state(self, app: str, user: str) -> Json:
        return self._shared_state(_user_id(app, user))

    def close(self) -> None:
        self._kept.close()
        self._shared.close()

    def _place(self, key: SessionKey) -> str:
        """Return the id that a session has in the store.

        Raises SessionNotFoundError if there is no session for this key.
        """
        id = id_of(*key)
        if self._kept.store.exists(id):
            return id
        try:
            head = self._kept.head(key.session)
        except InvalidIdError:
            raise SessionNotFoundError(key.session) from None
        # Only sessions of other programs can be opened by id, and only if no other user owns them.
        if head.metadata.get("framework") == KEY or is_anothers(head, key.user):
            raise SessionNotFoundError(key.session)
        return key.session

    @contextmanager
    def _now(self, store: SessionStore, id: str, make: type[T]) -> Generator[T]:
        name = make.__name__, id
        with self._threads:
            found: OpenLog[T] = self._open.pop(name, None) or OpenLog(store, id, make)
            self._open[name] = found
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
        with found.lock:
            yield found.now()

    def _around(self, key: SessionKey) -> Json:
        """Return the shared state of the app and the user, with the key prefixes of the ADK."""
        app = self._shared_state(_app_id(key.app))
        user = self._shared_state(_user_id(key.app, key.user))
        state = {State.APP_PREFIX + name: value for name, value in app.items()}
        return state | {State.USER_PREFIX + name: value for name, value in user.items()}

    def _summary(self, head: ours.Session) -> _Listed:
        """Return the state and last event time of a session, as a list shows them.

        A session file is read again only if it changed. On a server, only new records are read.
        """
        store = self._kept.store
        if isinstance(store, ServedStore):
            outline = self._outlines.setdefault(head.id, OpenLog(store, head.id, Outline))
            with outline.lock:
                now = outline.now()
                return _Listed(None, {**_initial(head), **now.state}, now.last)
        file = None
        if isinstance(store, LogStore):
            file = Fingerprint.at(f"{store.folder}/{head.id}.jsonl")
        known = self._listed.get(head.id)
        if known is None or file is None or known.file != file:
            events = OpenLog(store, head.id, SessionEvents).now()
            known = _Listed(file, {**_initial(head), **events.state}, events.last)
            self._listed[head.id] = known
        return known

    def _shared_state(self, id: str) -> Json:
        with self._now(self._shared.store, id, Shared) as found:
            state, changes = cast("Json", json_copy(found.state)), found.changes
        if changes > MOST_CHANGES:
            self._shorten(id)
        return state

    def _shorten(self, id: str) -> None:
        """Merge all stored changes of a shared state into one record.

        Changes that others append in the meantime come after this record. The lock prevents two
        merges at the same time, because one of them could undo a change that it has not read.
        """
        try:
            with self._shared.alone(id):
                self._shared.change(id, _merge)
        except CortextError as error:
            log.warning("the log of a state stays as long as it is: %s", error)

    def _share(self, key: SessionKey, delta: Delta, id: str) -> None:
        for place, change in (
            (_app_id(key.app), delta.app),
            (_user_id(key.app, key.user), delta.user),
        ):
            if change:
                record = shared_record(change, id)
                self._shared.append(place, [record], lambda place=place: ours.Session(place))

    def _note(self, id: str, event: Json, records: Sequence[SessionMessage]) -> None:
        """Update the title and the waiting tool calls in the head of a session, for lists."""
        asked = [one for one in records if one.role == "user" and one.content.strip()]
        answers = event.get("author") == "user" and any(one.role == "tool" for one in records)
        if not asked and not answers and not event.get("long_running_tool_ids"):
            return
        head = self._kept.head(id)
        with self._now(self._kept.store, id, SessionEvents) as found:
            pending = {"framework": KEY, "calls": dict(found.waiting)} if found.waiting else None
        changed: Json = {} if head.pending == pending else {"pending": pending}
        if asked and not head.title:
            changed["title"] = generate_title(ours.Session(messages=asked), WHOLE)
        if not changed:
            return
        self._kept.amend(id, **changed)


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


def _initial(head: ours.Session) -> Json:
    stored = head.metadata.get("state")
    return cast("Json", value_of(stored)) if stored else {}
